// Package sessions is the part of hermes sessions that is no command line: where a profile's stored sessions are
// reached, and how they are shown.
//
// A store has one owner. While a gateway serves the profile that is the gateway, and everything goes through its
// socket; when none does, the store is opened here, under its lock, behind the same API. This package never opens a
// store that somebody else owns.
package sessions
