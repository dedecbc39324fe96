package agent

import (
	"context"
	"errors"
	"time"

	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// CompactionStore is what compacting needs of the profile's session store; *store.Store implements it.
type CompactionStore interface {
	LockCompaction(ctx context.Context, sessionID, holder string, ttl time.Duration) (held bool, until time.Time, err error)
	UnlockCompaction(ctx context.Context, sessionID, holder string) error
	CompactionState(ctx context.Context, sessionID string) (store.CompactionState, error)
	SetCompactionState(ctx context.Context, sessionID string, state store.CompactionState) error
	Compact(ctx context.Context, c store.Compaction) ([]store.Message, error)
}

var _ CompactionStore = (*store.Store)(nil)

// CompactionConfig is how a Loop compacts sessions. Without a Store it does not.
type CompactionConfig struct {
	Store    CompactionStore
	Settings compaction.Settings
	// Window is the model's window in tokens; 0 is unknown, and then a session is compacted when the model refuses it.
	Window int64
	// AskWindow finds the window out when it is unknown and a request is large enough for that to matter; 0 is still
	// unknown. It may be nil.
	AskWindow func(ctx context.Context) int64
	// Holder names this process in the compaction locks.
	Holder string
	// NoModel writes summaries without asking the model.
	NoModel bool
}

// Compacted is what one compaction did.
type Compacted struct {
	// Done is false when there was nothing that a compaction would have made smaller.
	Done bool
	// TokensBefore and TokensAfter estimate the conversation, in tokens; RowsBefore and RowsAfter count its rows.
	TokensBefore, TokensAfter int64
	RowsBefore, RowsAfter     int
	// Fallback says that the summary was written without a model, and Failure why; both empty when no model was to be
	// asked.
	Fallback bool
	Failure  string
}

// Bounds of one compaction: the lock outlives the model call that it is held for.
const (
	summaryTime = 2 * time.Minute
	lockTime    = 3 * time.Minute
)

// worthShare is the share of a request, in hundredths, that a summary must be able to take the place of before the agent
// compacts ahead of time: a prompt that is large by itself must not make it do so over and over.
const worthShare = 10

// pass is one attempt to make a session smaller.
type pass struct {
	// window is the budget's window, in tokens; 0 is unknown.
	window int64
	// request is the size of the request that is to be made smaller, with the prompt and the tools in it; 0 is unknown.
	request int64
	// force compacts whatever the state remembers: the model refused the request, or a person asked.
	force bool
	// asked is a person's own wish, which does not wait for a pause to be over either.
	asked bool
	// level tightens the plan: at 2 the head goes.
	level int
	// last is the last attempt there is: the newest tool results, and messages without measure, are cut as well.
	last bool
	// focus is what the person wants to be kept in particular.
	focus string
}

// compact plans, asks for a summary and replaces the session's rows, under the session's lock. It reports what it did;
// a session that changed meanwhile or is being compacted by somebody else is left alone, with a time to try again.
//
// Implements S-102, S-401 to S-407.
func (r *run) compact(ctx context.Context, p pass) (done Compacted, again time.Time, failed *Error) {
	c := r.c.Compaction
	held, until, err := c.Store.LockCompaction(ctx, r.t.SessionID, c.Holder, lockTime)
	if err != nil {
		return done, again, r.readError(ctx, err)
	}
	if !held {
		return done, until, nil
	}
	defer func() {
		if err := c.Store.UnlockCompaction(context.WithoutCancel(ctx), r.t.SessionID, c.Holder); err != nil {
			r.c.Log.Error(err, "compaction lock not given up", "session", r.t.SessionID)
		}
	}()
	rows, err := r.c.Store.Messages(ctx, r.t.SessionID)
	if err != nil {
		return done, again, r.readError(ctx, err)
	}
	state, err := c.Store.CompactionState(ctx, r.t.SessionID)
	if err != nil {
		return done, again, r.readError(ctx, err)
	}
	if !p.force && !compaction.MayRun(state, r.c.Clock.Now()) {
		return done, again, nil
	}
	done, failed = r.replace(ctx, p, rows, state)
	return done, again, failed
}

// replace is compact with the lock held.
func (r *run) replace(ctx context.Context, p pass, rows []store.Message, state store.CompactionState) (Compacted, *Error) {
	settings := r.c.Compaction.Settings
	if p.level > 1 {
		settings.ProtectFirstN = 0
	}
	plan := compaction.Divide(rows, p.window, settings)
	done := Compacted{TokensBefore: compaction.TotalTokens(rows), RowsBefore: len(rows)}
	done.TokensAfter, done.RowsAfter = done.TokensBefore, done.RowsBefore
	if !p.force && compaction.TotalTokens(plan.Replace)*100 < max(done.TokensBefore, p.request)*worthShare {
		return done, nil
	}
	var summary *store.Message
	if plan.Summarises() {
		body, next, err := r.summarise(ctx, p, plan, state, &done)
		if err != nil {
			return done, err
		}
		state = next
		summary = compaction.Summary(plan, body, compaction.WordsBudget(p.window))
	}
	next := plan.Generation(summary, p.last)
	after := compaction.TotalTokens(next)
	state = compaction.AfterPass(state, done.TokensBefore, after, r.c.Clock.Now())
	if after >= done.TokensBefore {
		if err := r.c.Compaction.Store.SetCompactionState(context.WithoutCancel(ctx), r.t.SessionID, state); err != nil {
			return done, persistence(err)
		}
		return done, nil
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	// From here on a stop changes nothing: the store's own patience bounds the write.
	stored, err := r.c.Compaction.Store.Compact(context.WithoutCancel(ctx), store.Compaction{
		SessionID: r.t.SessionID, Holder: r.c.Compaction.Holder, From: ids, Rows: next, State: state,
	})
	switch {
	case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrCompression):
		r.c.Log.Info("session not compacted: it changed meanwhile", "session", r.t.SessionID)
		return done, nil
	case err != nil:
		return done, persistence(err)
	}
	done.Done, done.TokensAfter, done.RowsAfter = true, after, len(stored)
	r.reload(stored)
	r.c.Log.Info("session compacted", "session", r.t.SessionID, "tokensBefore", done.TokensBefore, "tokensAfter", after,
		"rowsBefore", done.RowsBefore, "rowsAfter", done.RowsAfter, "fallback", done.Fallback)
	r.emit(Event{Kind: EventCompacted, Compacted: &done})
	return done, nil
}

// reload makes the rows the history of the next request. The system prompt stays: only what follows it is new to the
// provider's cache.
func (r *run) reload(rows []store.Message) {
	r.history = nil
	if r.prompt != "" {
		r.history = append(r.history, llm.Message{Role: llm.RoleSystem, Content: r.prompt})
	}
	r.history = append(r.history, conversation(rows)...)
	r.size.reset()
}
