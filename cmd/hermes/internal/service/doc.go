// Package service owns the definitions by which a service manager runs a gateway that nobody declared: a systemd unit of the
// user or of the system, a launchd agent, and the finish script of an s6 slot. The texts are pure functions of a Spec; a
// Manager puts them in place and speaks to the service manager through one runner of commands.
//
// It must never decide whether a gateway may be installed or started, and never touch a definition whose name it did not
// make. Implements G-270, G-273 and the service part of G-280 to G-286 of spec/gateway-cron-sessions.md.
package service
