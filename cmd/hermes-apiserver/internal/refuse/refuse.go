// Package refuse holds the one error type with which hermes-apiserver declines to start, and the exit
// codes it maps to. It must never be used for a failure that a retry without a change could cure.
package refuse

import (
	"errors"
	"fmt"
)

// Exit codes of hermes-apiserver (design §9).
const (
	// ExitFailed is any failure that is not one of the named ones.
	ExitFailed = 1
	// ExitUsage is a command line that cannot be parsed.
	ExitUsage = 2
	// ExitBusy means that another instance owns the data directory: try again later (EX_TEMPFAIL).
	ExitBusy = 75
	// ExitConfig means that only a change of configuration can help (EX_CONFIG).
	ExitConfig = 78
)

// Error is a refusal to start: one line that says what to change, and the exit code.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Config refuses because of configuration (exit 78).
func Config(format string, args ...any) error {
	return &Error{Code: ExitConfig, Err: fmt.Errorf(format, args...)}
}

// Busy refuses because somebody else owns the data directory (exit 75).
func Busy(format string, args ...any) error {
	return &Error{Code: ExitBusy, Err: fmt.Errorf(format, args...)}
}

// Usage refuses the command line (exit 2).
func Usage(err error) error { return &Error{Code: ExitUsage, Err: err} }

// Code returns the exit code for err: 0 for nil, ExitFailed for anything that is not a refusal.
func Code(err error) int {
	if err == nil {
		return 0
	}
	if r := (*Error)(nil); errors.As(err, &r) {
		return r.Code
	}
	return ExitFailed
}
