package attach

// Exit codes of a start. Implements G-270.
const (
	// ExitOK: attached in a terminal.
	ExitOK = 0
	// ExitFailed: an ordinary error.
	ExitFailed = 1
	// ExitTemporary: try again later; every supervisor restarts it.
	ExitTemporary = 75
	// ExitConfiguration: only a change of configuration helps; every supervisor parks it.
	ExitConfiguration = 78
)

// ExitCode is the code with which a decision ends the process; ends is false when the process goes on. An attach is no
// failure for a person at a terminal, and no reason to be parked for a supervisor: the owner may go away.
// Implements G-270 and the two columns of G-255.
func ExitCode(d Decision, supervised bool) (code int, ends bool) {
	switch {
	case d.Outcome == Attach && supervised:
		return ExitTemporary, true
	case d.Outcome == Attach:
		return ExitOK, true
	case d.Outcome == Refuse && d.Transient:
		return ExitTemporary, true
	case d.Outcome == Refuse:
		return ExitConfiguration, true
	default:
		return 0, false
	}
}
