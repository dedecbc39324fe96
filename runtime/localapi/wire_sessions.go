package localapi

import (
	"encoding/json"
	"time"
)

// SessionInfo is one session in a list.
type SessionInfo struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Title  string `json:"title,omitempty"`
	// TitleSource: derived from what was said first, llm, user, branch or branch_fallback.
	TitleSource string `json:"title_source,omitempty"`
	// Parent is the session that this one follows, and EndReason why this one ended.
	Parent    string `json:"parent,omitempty"`
	EndReason string `json:"end_reason,omitempty"`
	// Preview is the beginning of what was said first; lists only.
	Preview        string     `json:"preview,omitempty"`
	Model          string     `json:"model,omitempty"`
	StartedAt      time.Time  `json:"started_at"`
	LastActivityAt time.Time  `json:"last_activity_at,omitzero"`
	EndedAt        *time.Time `json:"ended_at,omitempty"`
	Messages       int64      `json:"messages"`
	InputTokens    int64      `json:"input_tokens"`
	OutputTokens   int64      `json:"output_tokens"`
}

// SessionDetail is a session with its transcript.
type SessionDetail struct {
	SessionInfo
	// Unfinished says that the last turn ended before its reply and that it can be resumed.
	Unfinished bool            `json:"unfinished"`
	Transcript []TranscriptRow `json:"transcript"`
	// Delegations are what the session's agent handed to children without waiting, the newest first.
	Delegations []DelegationInfo `json:"delegations,omitempty"`
}

// TranscriptRow is one stored message.
type TranscriptRow struct {
	ID         int64           `json:"id"`
	Role       string          `json:"role"`
	Content    string          `json:"content,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	At         time.Time       `json:"at"`
	// Display marks a row of a special kind: notice is what the program says, steer what was said to a running turn,
	// peer_message what another session said. Empty for all others.
	Display string `json:"display,omitempty"`
	// Summary says that nobody said this: it stands for earlier messages, or joins it to the later ones.
	Summary bool `json:"summary,omitempty"`
}

// SessionList is a page of sessions, newest activity first.
type SessionList struct {
	Data []SessionInfo `json:"data"`
	// Next asks for the page after this one; "" when this is the last.
	Next string `json:"next,omitempty"`
}

// SearchList is what a search found.
type SearchList struct {
	Data []SearchHit `json:"data"`
	// Unindexed counts messages, the oldest ones, that were not searched because the index is being built.
	Unindexed int64 `json:"unindexed,omitempty"`
	// Bounded says that only the newest messages were searched.
	Bounded bool `json:"bounded,omitempty"`
}

// SearchHit is one message that a search found.
type SearchHit struct {
	Session  string    `json:"session"`
	Title    string    `json:"title,omitempty"`
	Source   string    `json:"source"`
	Message  int64     `json:"message"`
	Role     string    `json:"role"`
	ToolName string    `json:"tool_name,omitempty"`
	At       time.Time `json:"at"`
	// Snippet shows the surroundings of a match; each match stands between >>> and <<<.
	Snippet string `json:"snippet"`
}

// Rename is the body of a change of a session; its answer has the title as stored.
type Rename struct {
	// Title is the new title; "" takes the title away.
	Title *string `json:"title"`
}

// Deleted is what was deleted, or would be.
type Deleted struct {
	Sessions []string `json:"sessions"`
	Messages int64    `json:"messages"`
}

// MaintenanceRequest is the body of optimize, optimize-storage and prune.
type MaintenanceRequest struct {
	// DryRun only says what would be done.
	DryRun bool `json:"dry_run,omitempty"`
	// Force goes on although other processes have the store open.
	Force bool `json:"force,omitempty"`
	// OlderThanSeconds is how long ago a session that is pruned was used last; 0 is 90 days.
	OlderThanSeconds int64 `json:"older_than_seconds,omitempty"`
	// Source prunes conversations of one source only.
	Source string `json:"source,omitempty"`
}

// MaintenanceResult is what a maintenance did or, after a dry run, what it found.
type MaintenanceResult struct {
	DryRun bool `json:"dry_run"`
	// PassedOver describes the processes that a forced maintenance went past.
	PassedOver []string `json:"passed_over,omitempty"`
	// SizeBytes and FreeBytes are the store before, SizeAfterBytes after.
	SizeBytes      int64 `json:"size_bytes,omitempty"`
	FreeBytes      int64 `json:"free_bytes,omitempty"`
	SizeAfterBytes int64 `json:"size_after_bytes,omitempty"`
	// Vacuumed says whether the file was rewritten, or would be.
	Vacuumed bool `json:"vacuumed,omitempty"`
	// IndexVersion is the layout of the full-text index before, IndexMissing the messages it lacked.
	IndexVersion string `json:"index_version,omitempty"`
	IndexMissing int64  `json:"index_missing,omitempty"`
	Indexed      int64  `json:"indexed,omitempty"`
	// Merged are the full-text indexes that were merged.
	Merged []string `json:"merged,omitempty"`
	// Deleted is what a prune deleted or would.
	Deleted *Deleted `json:"deleted,omitempty"`
}
