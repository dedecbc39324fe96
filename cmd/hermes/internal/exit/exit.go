// Package exit owns the exit codes of the command line (design §9) and the one line that is printed
// before leaving with one. A verb returns an error; only main turns it into a code. It must never call
// os.Exit itself.
package exit

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes of hermes.
const (
	// OK: done, or everything is Ready.
	OK = 0
	// Failed: it did not work, or something is not Ready.
	Failed = 1
	// Usage: the command line is wrong.
	Usage = 2
	// TryAgain: somebody else holds what is needed, or it takes longer; later may work (EX_TEMPFAIL).
	TryAgain = 75
	// Refused: only a change of configuration can help (EX_CONFIG).
	Refused = 78
)

// Error is an error with an exit code. A nil Err prints nothing: the verb has already said it.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usagef is a wrong command line; the message says what to change.
func Usagef(format string, args ...any) error { return with(Usage, format, args...) }

// Busyf is a wait for somebody else; the message names them.
func Busyf(format string, args ...any) error { return with(TryAgain, format, args...) }

// Refusedf is a configuration that cannot work; the message says what to change.
func Refusedf(format string, args ...any) error { return with(Refused, format, args...) }

// Silent leaves with a code and prints nothing more.
func Silent(code int) error { return &Error{Code: code} }

func with(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Code is the exit code for an error: 0 for nil, the code of the outermost *Error in its chain, else 1.
func Code(err error) int {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Failed
}

// Line is what to print for an error: one line that starts with the program's name, or "" when there
// is nothing to say.
func Line(program string, err error) string {
	var e *Error
	if err == nil || (errors.As(err, &e) && e.Err == nil) {
		return ""
	}
	text := strings.TrimSpace(err.Error())
	text = strings.TrimPrefix(text, "error: ")
	return program + ": " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}
