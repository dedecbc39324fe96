// Package session owns the identity of a conversation: where a message came
// from (Source), which conversation it belongs to (Key), and the ids that
// stored sessions carry.
//
// Everything here is a pure function over values. The package must never read
// a store, a clock or a random source it was not given, and must never escape
// or normalise a key beyond the rule: the connector computes the same key, and
// byte equality is what binds a capability to its session.
//
// It implements section 8 of the relay specification, G-117
// and the session sources of S-421.
package session
