package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// Message is one row of a transcript. Empty fields are NULL in the file.
type Message struct {
	// ID is given by Append and never reused.
	ID        int64
	SessionID string
	Role      string
	Content   string
	// APIContent is the exact text sent to the model when it differs from Content.
	APIContent string
	// ToolCalls is the JSON list of calls an assistant message makes.
	ToolCalls            json.RawMessage
	ToolCallID, ToolName string
	EffectDisposition    string
	// Timestamp is now when zero. Resolution is a microsecond.
	Timestamp    time.Time
	TokenCount   *int64
	FinishReason string
	// Reasoning and its companions keep what a provider wants back verbatim; the last three are JSON.
	Reasoning, ReasoningContent                              string
	ReasoningDetails, CodexReasoningItems, CodexMessageItems json.RawMessage
	PlatformMessageID                                        string
	// Observed marks a message that was seen, not addressed to the agent.
	Observed bool
	// CompressedSummary marks a row that summarises earlier ones; Compacted a row a summary replaced.
	CompressedSummary, Compacted bool
	DisplayKind                  string
	DisplayMetadata              json.RawMessage
	DisplayIdentity              []byte
	DisplayOrder                 *int64
}

// Append adds messages to a session in order, in one transaction that also moves the session's counters and
// activity. When it returns nil every row is durable; when it fails none is there. It returns the messages as
// stored, with ID, SessionID and Timestamp. Errors: ErrNoSession, ErrContended after TranscriptBudget.
//
// Implements S-110 and S-114.
func (s *Store) Append(ctx context.Context, sessionID string, messages ...Message) ([]Message, error) {
	return s.appendWith(ctx, sessionID, messages, nil)
}

// appendWith is Append with something more in the same transaction; nil for nothing.
func (s *Store) appendWith(
	ctx context.Context, sessionID string, messages []Message, more func(context.Context, *db.Queries) error,
) ([]Message, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	stored := make([]Message, len(messages))
	params := make([]db.InsertMessageParams, len(messages))
	counted := db.CountAppendedParams{Messages: int64(len(messages)), ID: sessionID}
	now := s.clock.Now()
	for i, m := range messages {
		calls, err := m.check()
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(messages), err)
		}
		if m.Timestamp.IsZero() {
			m.Timestamp = now
		}
		m.SessionID = sessionID
		params[i] = m.insertParams()
		m.Timestamp = fromEpoch(params[i].Timestamp)
		stored[i] = m
		counted.ToolCalls += calls
		counted.At = max(counted.At, params[i].Timestamp)
	}
	err := s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		n, err := q.CountAppended(ctx, counted)
		if err != nil {
			return err
		}
		if n == 0 {
			return noSession(sessionID)
		}
		for i := range params {
			if stored[i].ID, err = q.InsertMessage(ctx, params[i]); err != nil {
				return err
			}
		}
		if more != nil {
			return more(ctx, q)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.noteAppended()
	return stored, nil
}

// Messages returns a session's active messages in order: the context a turn continues from. An unknown session has
// none.
func (s *Store) Messages(ctx context.Context, sessionID string) ([]Message, error) {
	var messages []Message
	err := s.read(ctx, func(q *db.Queries) error {
		rows, err := q.ActiveMessages(ctx, sessionID)
		if err != nil {
			return err
		}
		messages = make([]Message, len(rows))
		for i, row := range rows {
			messages[i] = messageFrom(row)
		}
		return nil
	})
	return messages, err
}

// check validates a message and counts its tool calls.
func (m Message) check() (toolCalls int64, err error) {
	if m.Role == "" {
		return 0, errors.New("role must be set")
	}
	for name, raw := range map[string]json.RawMessage{
		"reasoning details": m.ReasoningDetails, "codex reasoning items": m.CodexReasoningItems,
		"codex message items": m.CodexMessageItems, "display metadata": m.DisplayMetadata,
	} {
		if len(raw) > 0 && !json.Valid(raw) {
			return 0, fmt.Errorf("%s must be JSON", name)
		}
	}
	if len(m.ToolCalls) == 0 {
		return 0, nil
	}
	var calls []json.RawMessage
	if err := json.Unmarshal(m.ToolCalls, &calls); err != nil {
		return 0, fmt.Errorf("tool calls must be a JSON list: %w", err)
	}
	return int64(len(calls)), nil
}

func (m Message) insertParams() db.InsertMessageParams {
	return db.InsertMessageParams{
		SessionID: m.SessionID, Role: m.Role, Content: nullText(m.Content), ToolCallID: nullText(m.ToolCallID),
		ToolCalls: nullText(string(m.ToolCalls)), ToolName: nullText(m.ToolName),
		EffectDisposition: nullText(m.EffectDisposition), Timestamp: epoch(m.Timestamp),
		TokenCount: nullInt(m.TokenCount), FinishReason: nullText(m.FinishReason), Reasoning: nullText(m.Reasoning),
		ReasoningContent: nullText(m.ReasoningContent), ReasoningDetails: nullText(string(m.ReasoningDetails)),
		CodexReasoningItems: nullText(string(m.CodexReasoningItems)),
		CodexMessageItems:   nullText(string(m.CodexMessageItems)),
		PlatformMessageID:   nullText(m.PlatformMessageID), Observed: nullFlag(m.Observed),
		CompressedSummary: nullFlag(m.CompressedSummary), ApiContent: nullText(m.APIContent),
		DisplayKind: nullText(m.DisplayKind), DisplayMetadata: nullText(string(m.DisplayMetadata)),
		DisplayIdentity: nullBlob(m.DisplayIdentity), DisplayOrder: nullInt(m.DisplayOrder),
	}
}

func messageFrom(row db.Message) Message {
	return Message{
		ID: row.ID, SessionID: row.SessionID, Role: row.Role, Content: row.Content.String,
		APIContent: row.ApiContent.String, ToolCalls: rawJSON(row.ToolCalls), ToolCallID: row.ToolCallID.String,
		ToolName: row.ToolName.String, EffectDisposition: row.EffectDisposition.String,
		Timestamp: fromEpoch(row.Timestamp), TokenCount: fromNullInt(row.TokenCount),
		FinishReason: row.FinishReason.String, Reasoning: row.Reasoning.String,
		ReasoningContent: row.ReasoningContent.String, ReasoningDetails: rawJSON(row.ReasoningDetails),
		CodexReasoningItems: rawJSON(row.CodexReasoningItems), CodexMessageItems: rawJSON(row.CodexMessageItems),
		PlatformMessageID: row.PlatformMessageID.String, Observed: row.Observed.Int64 != 0,
		CompressedSummary: row.CompressedSummary.Int64 != 0, Compacted: row.Compacted.Int64 != 0,
		DisplayKind: row.DisplayKind.String, DisplayMetadata: rawJSON(row.DisplayMetadata),
		DisplayIdentity: row.DisplayIdentity, DisplayOrder: fromNullInt(row.DisplayOrder),
	}
}
