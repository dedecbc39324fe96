package controlplane

import (
	"fmt"
	"strings"
)

// Exit codes of hermes-apiserver that mean something to its caller (design §9).
const (
	ExitBusy   = 75
	ExitConfig = 78
)

// ExitError says that the control plane ended before it was asked to, and why in its own words.
type ExitError struct {
	// Code is the exit code, -1 when a signal ended the process.
	Code int
	// Reason is the last line the process printed, without its program name.
	Reason string
	// Log is the file with everything it printed.
	Log string
}

func (e *ExitError) Error() string {
	switch {
	case e.Code == ExitBusy || e.Code == ExitConfig:
		return "control plane: " + e.Reason
	case e.Reason == "":
		return fmt.Sprintf("control plane ended with code %d, see %s", e.Code, e.Log)
	}
	return fmt.Sprintf("control plane ended with code %d: %s (see %s)", e.Code, e.Reason, e.Log)
}

// Busy reports that another control plane runs on the data directory.
func (e *ExitError) Busy() bool { return e.Code == ExitBusy }

// Refused reports that only a change of configuration can help.
func (e *ExitError) Refused() bool { return e.Code == ExitConfig }

// reason picks the line that explains an exit: the last one the program printed in its own name, else the
// last line at all (a panic, a library's last words).
func reason(lines []string) string {
	const own = BinaryName + ": "
	for i := len(lines) - 1; i >= 0; i-- {
		if text, ok := strings.CutPrefix(lines[i], own); ok {
			return text
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
