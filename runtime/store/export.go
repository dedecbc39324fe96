package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// ExportFormat is how sessions leave the store.
type ExportFormat string

// The formats of Export.
const (
	// ExportJSONL is one JSON object a line and session, its messages within.
	ExportJSONL ExportFormat = "jsonl"
	// ExportMarkdown is for reading.
	ExportMarkdown ExportFormat = "markdown"
)

// exportPage is how many messages are held in memory at once.
const exportPage = 200

// ExportedSession is the object of ExportJSONL without its messages. Times are in UTC; empty fields are left out.
type ExportedSession struct {
	ID             string    `json:"id"`
	Source         string    `json:"source"`
	Title          string    `json:"title,omitempty"`
	Model          string    `json:"model,omitempty"`
	Profile        string    `json:"profile,omitempty"`
	Parent         string    `json:"parent,omitempty"`
	StartedAt      time.Time `json:"started_at"`
	LastActivityAt time.Time `json:"last_activity_at,omitzero"`
	EndedAt        time.Time `json:"ended_at,omitzero"`
	EndReason      string    `json:"end_reason,omitempty"`
	InputTokens    int64     `json:"input_tokens"`
	OutputTokens   int64     `json:"output_tokens"`
	SystemPrompt   string    `json:"system_prompt,omitempty"`
}

// ExportedMessage is one message of an ExportedSession.
type ExportedMessage struct {
	ID         int64           `json:"id"`
	Role       string          `json:"role"`
	Content    string          `json:"content,omitempty"`
	Reasoning  string          `json:"reasoning,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	At         time.Time       `json:"at"`
	// State is "" for a message that counts, compacted for one that a summary stands for, and undone for one that
	// was taken back. Summary marks the summary.
	State   string `json:"state,omitempty"`
	Summary bool   `json:"summary,omitempty"`
}

// Export writes one session in a format. JSONL has every message; Markdown leaves out what was taken back and what
// only the model sees. It holds a few messages in memory at a time. Errors: ErrNoSession, and those of w.
func (s *Store) Export(ctx context.Context, w io.Writer, id string, format ExportFormat) error {
	session, ok, err := s.Session(ctx, id)
	switch {
	case err != nil:
		return err
	case !ok:
		return noSession(id)
	case format != ExportJSONL && format != ExportMarkdown:
		return fmt.Errorf("export format %q: use %s or %s", format, ExportJSONL, ExportMarkdown)
	}
	out := bufio.NewWriter(w)
	write := writer{out: out}
	if format == ExportMarkdown {
		write.markdownHead(session)
	} else {
		write.jsonHead(session)
	}
	for after, more := int64(0), true; more && write.err == nil; {
		page, err := s.messagesAfter(ctx, id, after)
		if err != nil {
			return err
		}
		for _, row := range page {
			after = row.ID
			if format == ExportMarkdown {
				write.markdownRow(row)
			} else {
				write.jsonRow(row)
			}
		}
		more = len(page) == exportPage
	}
	if format == ExportJSONL {
		write.text("]}\n")
	}
	if write.err != nil {
		return write.err
	}
	return out.Flush()
}

func (s *Store) messagesAfter(ctx context.Context, id string, after int64) (page []db.Message, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		page, err = q.MessagesAfter(ctx, db.MessagesAfterParams{SessionID: id, ID: after, Limit: exportPage})
		return err
	})
	return page, err
}

// writer writes an export and keeps the first error.
type writer struct {
	out   *bufio.Writer
	err   error
	begun bool
	// replaced are the rows of earlier generations that were written.
	replaced map[[sha256.Size]byte]bool
}

func (w *writer) text(text string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(text)
	}
}

func (w *writer) json(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("export: %w", err)
	}
	w.text(string(raw))
}

// jsonHead writes the session's object up to the list of messages, which jsonRow fills.
func (w *writer) jsonHead(s Session) {
	raw, err := json.Marshal(ExportedSession{
		ID: s.ID, Source: s.Source, Title: s.Title, Model: s.Model, Profile: s.ProfileName, Parent: s.ParentID,
		StartedAt: s.StartedAt, LastActivityAt: s.LastActivityAt, EndedAt: s.EndedAt, EndReason: s.EndReason,
		InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens, SystemPrompt: s.SystemPrompt,
	})
	w.err = err
	w.text(strings.TrimSuffix(string(raw), "}") + `,"messages":[`)
}

func (w *writer) jsonRow(row db.Message) {
	if w.begun {
		w.text(",")
	}
	w.begun = true
	m := messageFrom(row)
	out := ExportedMessage{
		ID: m.ID, Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID,
		ToolName: m.ToolName, At: m.Timestamp, State: stateOf(row), Summary: m.CompressedSummary,
	}
	if json.Valid(m.ToolCalls) { // others may have written what is no JSON
		out.ToolCalls = m.ToolCalls
	}
	w.json(out)
}

func stateOf(row db.Message) string {
	switch {
	case row.Active != 0:
		return ""
	case row.Compacted.Int64 != 0:
		return "compacted"
	default:
		return "undone"
	}
}

func (w *writer) markdownHead(s Session) {
	name := s.Title
	if name == "" {
		name = "Session " + s.ID
	}
	w.text("# " + strings.Join(strings.Fields(name), " ") + "\n\n")
	for _, line := range [][2]string{
		{"Session", s.ID}, {"Source", s.Source}, {"Model", s.Model}, {"Started", stamp(s.StartedAt)}, {"Ended", stamp(s.EndedAt)},
	} {
		if line[1] != "" {
			w.text("- " + line[0] + ": " + line[1] + "\n")
		}
	}
}

func (w *writer) markdownRow(row db.Message) {
	m := messageFrom(row)
	if stateOf(row) == "undone" || m.CompressedSummary || m.Role == "system" || w.repeated(row) {
		return
	}
	heading := map[string]string{"user": "User", "assistant": "Assistant", "tool": "Tool " + m.ToolName}[m.Role]
	if heading == "" {
		heading = m.Role
	}
	w.text("\n## " + strings.TrimSpace(heading) + " · " + stamp(m.Timestamp) + "\n\n")
	switch {
	case m.Role == "tool":
		w.text(fenced(m.Content, ""))
	case strings.TrimSpace(m.Content) != "":
		w.text(strings.TrimRight(m.Content, "\n") + "\n")
	}
	for _, call := range toolCalls(m.ToolCalls) {
		w.text("\nCalls " + call.Function.Name + ":\n\n" + fenced(call.Function.Arguments, "json"))
	}
}

// repeated is true for a message that a compaction kept and put in again: the row it replaced was written before.
func (w *writer) repeated(row db.Message) bool {
	key := sha256.Sum256(fmt.Appendf(nil, "%s\x00%x\x00%s\x00%s", row.Role, row.Timestamp, row.ToolCallID.String, row.Content.String))
	if w.replaced[key] {
		return true
	}
	if row.Active == 0 {
		if w.replaced == nil {
			w.replaced = map[[sha256.Size]byte]bool{}
		}
		w.replaced[key] = true
	}
	return false
}

type toolCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func toolCalls(raw json.RawMessage) (calls []toolCall) {
	if len(raw) > 0 && json.Unmarshal(raw, &calls) != nil {
		return nil // another program's shape; the JSON export has it as it is
	}
	return calls
}

// fenced puts text in a code block whose fence is longer than any in the text.
func fenced(text, language string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}
