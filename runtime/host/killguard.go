package host

import (
	"errors"
	"fmt"
)

// Reasons for which a process must not be signalled.
var (
	// ErrOtherHome: the record belongs to another home.
	ErrOtherHome = errors.New("the process belongs to another home")
	// ErrProcessGone: nothing is left to signal.
	ErrProcessGone = errors.New("the process is gone")
	// ErrRecycledPID: the pid belongs to a later process now.
	ErrRecycledPID = errors.New("the pid was given to another process")
	// ErrUnprovenPID: nothing proves that the pid still names the recorded process.
	ErrUnprovenPID = errors.New("the process cannot be proved to be the recorded one")
)

// KillGuard decides whether the process of a record may be signalled on behalf of a home; sameHome compares homes, as
// [SameHome] does. wantStart is the fingerprint the caller saw earlier,
// 0 to rely on the record's. It returns nil when the signal is permitted and otherwise one of the errors above, wrapped.
// Implements G-213.
func KillGuard(record PIDRecord, wantHome string, wantStart int64, seen Observation, sameHome func(a, b string) bool) error {
	if !sameHome(record.HermesHome, wantHome) {
		return fmt.Errorf("pid %d: %w: %q, not %q", record.PID, ErrOtherHome, record.HermesHome, wantHome)
	}
	if wantStart > 0 && record.StartTime > 0 && !SameStart(wantStart, record.StartTime) {
		return fmt.Errorf("pid %d: %w since it was looked at", record.PID, ErrRecycledPID)
	}
	want := ProcessID{PID: record.PID, StartTime: wantStart}
	if want.StartTime <= 0 {
		want.StartTime = record.StartTime
	}
	switch JudgeProcess(want, seen) {
	case Alive:
		return nil
	case Dead:
		if seen.State == Alive {
			return fmt.Errorf("pid %d: %w", record.PID, ErrRecycledPID)
		}
		return fmt.Errorf("pid %d: %w", record.PID, ErrProcessGone)
	default:
		return fmt.Errorf("pid %d: %w", record.PID, ErrUnprovenPID)
	}
}

// MaySignal is [KillGuard] against the process that runs now.
// Implements G-213.
func MaySignal(record PIDRecord, home string, wantStart int64) error {
	return KillGuard(record, home, wantStart, Observe(record.PID), SameHome)
}
