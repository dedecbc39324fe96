// Package reach is the one way from the command line to a profile. It finds a profile, and it opens what is found.
//
// A profile is found by its declaration, or, while the control plane of the data directory is stopped, among the gateways
// and homes below that directory, or by --home or --socket. It is opened through the gateway that serves it, else in this
// process: the same HTTP handler over the same profile.Runtime, under the store's lock. Either way there is one writer of
// a store; which one it is shows only in how fast the answer comes. This package must never open a store itself, and
// never beside a gateway that serves it.
//
// Implements design section 10, "One writer per store", for every verb about one profile.
package reach
