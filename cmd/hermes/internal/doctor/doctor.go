// Package doctor holds the checks of hermes doctor: what about this machine and its data directory can go
// wrong, and what to do about it. Each check is one small function that returns one finding. A check must
// only read: it opens no store, creates no file and changes no object. Implements hermes doctor of design §9.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// Level of a finding.
type Level string

// Levels. Problem and Warning are findings that stand; Note and OK are not.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is what one check saw.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Remedy says what to do, empty when there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Check looks at one thing.
type Check struct {
	Name string
	Run  func(ctx context.Context) Finding
}

// Run runs every check in order. A panic in one is a finding of that one.
func Run(ctx context.Context, checks []Check) []Finding {
	var out []Finding
	for _, check := range checks {
		f := runOne(ctx, check)
		f.Check = check.Name
		out = append(out, f)
	}
	return out
}

func runOne(ctx context.Context, check Check) (f Finding) {
	defer func() {
		if thrown := recover(); thrown != nil {
			f = Finding{Level: Problem, Message: fmt.Sprintf("the check itself failed: %v", thrown)}
		}
	}()
	return check.Run(ctx)
}

// Stands counts the findings that something is to be done about.
func Stands(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Level == Warning || f.Level == Problem {
			n++
		}
	}
	return n
}

// Render is the findings as text, in the look of hermes status.
func Render(findings []Finding, t statusview.Terminal) string {
	var rows []statusview.Line
	for _, f := range findings {
		verdict := map[Level]statusview.Verdict{OK: statusview.Ready, Note: statusview.Suspended, Warning: statusview.Progressing, Problem: statusview.NotReady}[f.Level]
		rows = append(rows, statusview.Line{Verdict: verdict, Title: f.Check, Text: f.Message, Remedy: f.Remedy})
	}
	return statusview.Lines(rows, t)
}

func ok(format string, args ...any) Finding {
	return Finding{Level: OK, Message: fmt.Sprintf(format, args...)}
}

func finding(level Level, remedy, format string, args ...any) Finding {
	return Finding{Level: level, Message: strings.TrimSpace(fmt.Sprintf(format, args...)), Remedy: remedy}
}
