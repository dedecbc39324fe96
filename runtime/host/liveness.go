package host

import "math"

// ProcessID identifies one incarnation of a process on this host.
type ProcessID struct {
	// PID is the process id; values below 1 name no process.
	PID int
	// StartTime is the kernel's start fingerprint: clock ticks since boot on Linux, centiseconds since the epoch
	// elsewhere. 0 means unknown.
	StartTime int64
}

// Liveness says what is known about a process. The zero value is the one that proves nothing.
type Liveness int

const (
	// Unknown means neither life nor death could be proved.
	Unknown Liveness = iota
	// Alive means that exactly this incarnation is running.
	Alive
	// Dead means that this incarnation is provably gone: no such pid, a zombie, or the pid belongs to a later process.
	Dead
)

// String returns the word used in logs.
func (l Liveness) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	default:
		return "unknown"
	}
}

// Observation is what the kernel says about a pid now. It is the input of every liveness decision in this package.
type Observation struct {
	// State is Alive for a running process, Dead for a missing pid or a zombie, Unknown when the kernel would not say.
	State Liveness
	// StartTime is the start fingerprint of the process that has the pid now, 0 when unknown.
	StartTime int64
	// CreateTime is the creation time in seconds since the epoch, 0 when unknown.
	CreateTime float64
	// BootID names the boot the observation was made in, "" when unknown.
	BootID string
}

// createTimeToleranceSeconds bounds how far two derivations of one process's creation time may be apart. The kernel
// reports boot time in whole seconds and moves it by one when the clock is disciplined, so a smaller bound would call
// living owners dead; pids are not reused within two seconds on any host that hands them out in order.
const createTimeToleranceSeconds = 2.0

// ProcessLiveness reports whether the given incarnation runs now.
// Implements G-212.
func ProcessLiveness(p ProcessID) Liveness {
	return JudgeProcess(p, Observe(p.PID))
}

// JudgeProcess is the pure core of [ProcessLiveness]: the recorded identity against what is observed at its pid.
// A running pid whose start time cannot be compared is Unknown, never Alive.
// Implements G-212.
func JudgeProcess(p ProcessID, seen Observation) Liveness {
	switch {
	case p.PID < 1 || seen.State == Dead:
		return Dead
	case seen.State == Unknown || p.StartTime <= 0 || seen.StartTime <= 0:
		return Unknown
	case SameStart(p.StartTime, seen.StartTime):
		return Alive
	default:
		return Dead
	}
}

// SameStart reports whether two start fingerprints from the same host name one process. Both must be known; the unit is
// coarser than the permitted millisecond, so agreement is equality.
// Implements G-212.
func SameStart(a, b int64) bool { return a > 0 && b > 0 && a == b }

// SameCreateTime reports whether two creation times, in seconds since the epoch, name one process. Unknown (0, negative
// or not finite) agrees with nothing.
func SameCreateTime(a, b float64) bool {
	if a <= 0 || b <= 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return false
	}
	return math.Abs(a-b) <= createTimeToleranceSeconds
}
