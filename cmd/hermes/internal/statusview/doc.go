// Package statusview turns the objects of a control plane into what hermes status shows: what is not Ready
// first, since when, why, and what to do. Everything here is a pure function of objects, the time and the
// terminal; it must never talk to a server, read a file or ask for the time. Its words come from conditions,
// never from guesses: what no condition says is not shown as a fact. Implements the status look of design §9;
// docs/status-json.md describes the JSON form.
package statusview
