// Package host keeps the promise "one gateway per home root, one multiplexing gateway per operating system user".
//
// It owns the files and the socket by which gateways find each other on one machine:
//
//   - process identity: pid plus kernel start time, never a pid alone (liveness.go, identity_*.go);
//   - advisory locks held for life: gateway.lock in a home, host-<role>.lock in the rendezvous directory (lock.go);
//   - the per-home pid file and the kill guard (pidrecord.go, killguard.go, homeclaim.go);
//   - the rendezvous record that names the host's owner, its directory, the claim on it and the proof of its staleness
//     (record.go, lockdir.go, rendezvous.go, claim.go, staleness.go);
//   - the control socket: its address, wire, server, client and typed verbs (socket_path.go, bind.go, wire.go, server.go,
//     client.go, verbs.go, profileverbs.go), and a listening socket passed on from run to run (inherit.go);
//   - gateway_state.json and the start-storm breaker (state.go, startstorm.go).
//
// It must never read the environment (callers pass directories in), never signal a process, never decide whether to start
// (the attach decision is built on top of what is read here), never use TCP, and never open a profile's state.db.
//
// The locks are flock(2) locks on files of their own: they belong to the open file description, so they are free the
// moment the process is gone, and they share nothing with the record locks SQLite takes on a store. There is no
// "is it locked?" probe on purpose: on every platform such a probe is itself a lock and could make a real claimant lose.
//
// Controllers may import this package for the wire types of the control socket only.
//
// Implements sections 1.1 (home identity), 3.1 to 3.4 of spec/gateway-cron-sessions.md: G-103 to G-105, G-200 to G-202,
// G-210 to G-215, G-220 to G-230, G-240 to G-248.
package host
