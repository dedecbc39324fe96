package session

import "strings"

// Kind is what a stored session calls its source: a platform, or one of the
// kinds below. It is compared trimmed and in lower case.
type Kind string

// Kinds of sessions that no chat platform starts.
const (
	KindCLI      Kind = "cli"
	KindAPI      Kind = "api"
	KindCron     Kind = "cron"
	KindSubagent Kind = "subagent"
	KindOneshot  Kind = "oneshot"
	KindWebhook  Kind = "webhook"
	KindKanban   Kind = "kanban"
	KindTool     Kind = "tool"
	KindBatch    Kind = "batch"
)

// Paced reports whether a person paces the session, so that it pauses for
// minutes and a longer prompt cache pays off. Machines run in bursts; what is
// not known to be a machine is a person.
//
// Implements S-421, L13.
func (k Kind) Paced() bool {
	switch Kind(strings.ToLower(strings.TrimSpace(string(k)))) {
	case KindAPI, KindCron, KindSubagent, KindOneshot, KindWebhook, KindKanban, KindTool, KindBatch:
		return false
	}
	return true
}
