package process

import "hermes.dev/hermes/runtime/host"

// evidence is what can be found out about the process of a remembered run.
type evidence struct {
	// Process is whether exactly the recorded pid and kernel start time live, in the recorded boot.
	Process host.Liveness
	// SameExe: the process executes the recorded file.
	SameExe bool
	// Marked: the run id is in its environment or on its command line.
	Marked bool
	// Answered: the control socket of the home answered with the run's id for the recorded pid.
	Answered bool
}

// mayAdopt decides whether the process is the remembered run. A pid alone never
// is: it takes the kernel's start time and a proof that only the run can give.
// An answer over the socket is the strongest; without one (the gateway may be
// starting, or hang) the process must carry the run id and execute the recorded
// file. Implements guarantee G1.
func mayAdopt(e evidence) bool {
	switch {
	case e.Process == host.Dead:
		return false
	case e.Answered:
		return true
	default:
		return e.Process == host.Alive && e.Marked && e.SameExe
	}
}
