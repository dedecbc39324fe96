package tools

import (
	"context"
	"encoding/json"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Definition is what the model is told about one tool.
type Definition struct {
	Name        string
	Description string
	// Parameters is a JSON schema of type object. Treat it as read-only.
	Parameters map[string]any
}

// Call is one tool call of the model.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Result is what goes back to the model. Content of an error that has no
// output of its own is `{"error":…}` (T5).
type Result struct {
	Content string
	IsError bool
}

// Decision is a person's answer to an ApprovalRequest. The zero value denies.
type Decision int

const (
	// DecisionDeny refuses this call.
	DecisionDeny Decision = iota
	// DecisionOnce allows this call only.
	DecisionOnce
	// DecisionSession allows it for the rest of the session: the tool, or for
	// terminal exactly this command.
	DecisionSession
	// DecisionAlways allows it for every session as long as the Set lives.
	DecisionAlways
)

// ApprovalRequest is a question for the person who owns the session.
type ApprovalRequest struct {
	SessionID, CallID, Tool string
	// Summary says in one line what will happen.
	Summary string
	// Reason says why it is asked.
	Reason string
	// Command is the complete command for terminal, otherwise empty.
	Command string
}

// ApproveFunc asks a person and waits for the answer. It returns ctx's error
// when nobody answered in time; any error denies the call.
type ApproveFunc func(ctx context.Context, r ApprovalRequest) (Decision, error)

// Mode is how calls that need approval are treated when no rule decides.
type Mode int

const (
	// ModeAsk asks the session's person.
	ModeAsk Mode = iota
	// ModeAllow allows everything, dangerous commands included.
	ModeAllow
	// ModeDeny allows what an allow rule names and denies the rest unasked.
	ModeDeny
)

// Config says what a Set may touch. All paths are absolute.
type Config struct {
	// Workspace is where relative paths start and where commands run. It is
	// created when it is missing and lies below Home; elsewhere it must exist.
	Workspace string
	// Home is the profile's HERMES_HOME.
	Home string
	// Roots are further directories the file tools may use. Naming one is the
	// consent to read it.
	Roots []string
	// Toolsets selects; empty, "all" or "*" selects every toolset.
	Toolsets []string
	// DisabledToolsets is taken away from the selection.
	DisabledToolsets []string
	Mode             Mode
	// Allow holds allow rules: a tool name, or "terminal:<glob>".
	Allow []string
	// Environ is added to the built environment of commands, as KEY=value.
	Environ []string
	// OutputLimit is how many bytes of a command's or a file's text go to the
	// model; 0 means 50 KiB.
	OutputLimit int
	// SpillDir receives the complete output of commands that exceed
	// OutputLimit; empty means <Home>/cache/tool-output.
	SpillDir string
	Log      logr.Logger
	Clock    clock.WithTicker
	// RunID identifies this run of the gateway; commands see it as HERMES_RUN_ID.
	RunID string
	// Orphans finds what hid from the call that started it; nil does without.
	Orphans *Orphans
}
