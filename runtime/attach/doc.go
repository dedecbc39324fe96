// Package attach decides whether a gateway that is about to start shall start, attach to the gateway that serves its
// profile already, replace it, or refuse.
//
// It owns the attach decision, the contest for the host lock, the exit code of each outcome and what a person is told. The decisions are
// pure functions over what was seen (decide.go, contest.go, exitcode.go); the probe that sees it is a thin shell over
// runtime/host (probe.go). It must never signal a process, never start one, never write a file, and never believe the
// served set of a record: only an answer over the control socket says who is served.
//
// Implements section 3.5 and the exit codes of section 3.6 of spec/gateway-cron-sessions.md: G-227, G-250 to G-260, G-270.
package attach
