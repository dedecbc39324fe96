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

	// What Run adds for handlers that want it (T4).
	session string
	ask     ApproveFunc
}

// Session is the session the call belongs to, once it is run.
func (c Call) Session() string { return c.session }

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
	// DecisionSession allows what the request covers for the rest of the session.
	DecisionSession
	// DecisionAlways allows it for every session until it is revoked; it is kept in the home.
	DecisionAlways
)

func (d Decision) valid() bool { return d >= DecisionDeny && d <= DecisionAlways }

// ApprovalRequest is a question for the person who owns the session.
type ApprovalRequest struct {
	SessionID, CallID, Tool string
	// Summary says in one line what will happen.
	Summary string
	// Reason says why it is asked.
	Reason string
	// Command is the complete command for terminal, otherwise empty.
	Command string
	// Covers says what a decision for the session or for always covers, one of the Approval constants; empty when no
	// decision covers more than this call.
	Covers string
	// Question is set when the agent asks something instead of for permission (tool clarify).
	Question *Clarification
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
	// Guarded are directories that hold the homes of other agents, or the control plane: the file tools use nothing below
	// them but the own home, even when the workspace holds them.
	Guarded []string
	// Roots are further directories the file tools may use. Naming one is the
	// consent to read it.
	Roots []string
	// Toolsets selects; empty, "all" or "*" selects every toolset that is not opt-in.
	Toolsets []string
	// DisabledToolsets is taken away from the selection.
	DisabledToolsets []string
	// CustomToolsets are toolsets that the configuration defines.
	CustomToolsets map[string]CustomToolset
	// Servers names the MCP servers of the profile, so that toolsets can be selected by their bare names.
	Servers []string
	Mode    Mode
	// Allow holds allow rules: a tool name, or a tool and a glob over what its calls are told apart by, as in
	// "terminal:git *" and "web_fetch:https://*.example.org".
	Allow []string
	// Approvals keeps decisions given for always; nil means the file of the home.
	Approvals *Approvals
	// Declared reports whether a file of the home, by its relative path, is declared in the profile, so that a change
	// would not last; nil means that none is.
	Declared func(rel string) bool
	// MemoryLimit and UserLimit bound memories/MEMORY.md and memories/USER.md, in characters; 0 means 2200 and 1375.
	MemoryLimit, UserLimit int
	// Sessions finds what was said in earlier sessions; nil makes session_search unavailable.
	Sessions SessionSearcher
	// Delegate runs delegate_task; nil makes it unavailable.
	Delegate Handler
	// Cron runs cronjob_manage; nil makes it unavailable.
	Cron CronManager
	// Skills says which skills are offered.
	Skills SkillConfig
	// Web says what web_fetch may reach.
	Web WebConfig
	// Processes are the profile's background processes. They outlive the Set; nil means that the Set makes them and ends
	// them when it closes.
	Processes *Processes
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
