// Package process is the engine that runs gateways as child processes of this
// machine. It implements engine.Engine after the supervision guarantees of the
// design (§5, §10):
//
//	G1  adopt: a running gateway outlives its supervisor and is taken over again
//	G2  never two gateways of one workload
//	G3  the intent is on disk before a process is spawned
//	G4  back-off 1 s doubling to 5 min, endless and visible
//	G5  exits are classified; a refusal waits for a change, one for a foreign home for the home to become free
//	G6  startup, readiness and liveness are apart
//	G7  logs outlive the supervisor and are bounded
//	G8  one stop budget from which every outer wait derives
//	G9  the whole tree dies, no zombie stays
//	G10 memory, CPU weight and task count by cgroup where the machine delegates one
//	G11 staggered starts
//	G12 one owner per process
//
// It owns the state directory it is given: one intent file per workload. It
// never reads or writes hermes.dev objects, never signals a process that it did
// not prove to be its own, and never stops a gateway because it ends itself:
// Close lets go.
//
// G12: this package does not speak sd_notify. READY and WATCHDOG belong to the
// command that systemd started (`hermes up`, `hermes operator`); each gateway
// has one owner, which is the engine whose state directory holds its intent.
// A unit that runs the operator needs KillMode=process, or systemd would stop
// the gateways with it.
package process
