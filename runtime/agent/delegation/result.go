package delegation

import (
	"strings"
	"unicode/utf8"
)

// Values of Result.Status, of Event.Status and of a row's final state.
const (
	StatusCompleted   = "completed"
	StatusError       = "error"
	StatusInterrupted = "interrupted"
	// StatusUnknown is a child whose process died before it could say what came of it.
	StatusUnknown = "unknown"
)

// Values of Result.ExitReason.
const (
	ExitCompleted     = "completed"
	ExitMaxIterations = "max_iterations"
	ExitInterrupted   = "interrupted"
	ExitError         = "error"
	ExitOwnerDied     = "owner_died"
)

const (
	// maxSummary bounds what one child reports, maxReport what all of a batch do, in bytes.
	maxSummary = 16 << 10
	maxReport  = 48 << 10
	maxError   = 2 << 10
)

// Result is what came of one child.
type Result struct {
	TaskIndex int    `json:"task_index"`
	Goal      string `json:"goal,omitempty"`
	Status    string `json:"status"`
	// Summary is the child's last message.
	Summary         string  `json:"summary,omitempty"`
	Error           string  `json:"error,omitempty"`
	SessionID       string  `json:"session_id,omitempty"`
	ExitReason      string  `json:"exit_reason,omitempty"`
	APICalls        int     `json:"api_calls"`
	DurationSeconds float64 `json:"duration_seconds"`
}

// Bound cuts what a child said to its share of the report of n children.
func (r Result) Bound(n int) Result {
	r.Summary = cut(r.Summary, min(maxSummary, maxReport/max(n, 1)))
	r.Error = cut(r.Error, maxError)
	r.Goal = cut(r.Goal, maxError)
	return r
}

// Recorded is what a row's result_json holds: the results of the children that have ended.
type Recorded struct {
	Results []Result `json:"results"`
}

// Complete gives a result for every task, in their order: those recorded, and unknown ones for the rest.
//
// Implements the results of S-210.
func (r Recorded) Complete(tasks []Task, sessions []string) []Result {
	out := make([]Result, len(tasks))
	for i, t := range tasks {
		out[i] = Result{TaskIndex: i, Goal: cut(t.Goal, maxError), Status: StatusUnknown, ExitReason: ExitOwnerDied,
			Error: "the process that ran this child ended before it reported; what it did until then is unknown"}
		if i < len(sessions) {
			out[i].SessionID = sessions[i]
		}
	}
	for _, got := range r.Results {
		if got.TaskIndex >= 0 && got.TaskIndex < len(out) {
			out[got.TaskIndex] = got
		}
	}
	return out
}

// StatusOf sums the results up: the worst of them.
func StatusOf(results []Result) string {
	rank := []string{StatusCompleted, StatusError, StatusInterrupted, StatusUnknown}
	worst := 0
	for _, r := range results {
		for i, status := range rank {
			if r.Status == status {
				worst = max(worst, i)
			}
		}
	}
	return rank[worst]
}

// cut shortens a text to at most most bytes, without cutting a character in two, and says so.
func cut(s string, most int) string {
	const mark = "… [cut here]"
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= most {
		return s
	}
	at := max(most-len(mark), 0)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + mark
}

// States of a row while it is unfinished.
const (
	StateRunning    = "running"
	StateFinalizing = "finalizing"
)
