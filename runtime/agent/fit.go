package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
)

// ask is request with a conversation that fits: compacted ahead of time when it is near the window, and again when the
// model refuses it as too long. Implements the preflight of L1, and the table of L.4 where it says compress.
func (r *run) ask(ctx context.Context) (llm.Response, *Error) {
	if err := r.preflight(ctx); err != nil {
		return llm.Response{}, err
	}
	for level := 1; ; level++ {
		resp, err := r.request(ctx)
		if err == nil {
			r.size.learn(resp.Usage, len(r.history)) // a fallback may have made it shorter meanwhile
			return resp, nil
		}
		var refused *llm.Error
		if !errors.As(err.Err, &refused) || !refused.Compress || r.c.Compaction.Store == nil || !r.c.Compaction.Settings.Enabled {
			return llm.Response{}, err
		}
		if level, err = r.shrink(ctx, level, err, refused); err != nil {
			return llm.Response{}, err
		}
	}
}

// idleMessages is for how many messages a preflight that had nothing to do is not repeated in a turn: planning reads the
// whole session.
const idleMessages = 6

// askFrom is from how many tokens on a request is worth finding out the model's window: no model has less.
const askFrom = 3_000

// window is the model's window in tokens: the configured one, else what the server says of it; what a refusal said is
// taken when that is less. 0 is unknown.
func (r *run) window(ctx context.Context, request int64) int64 {
	c := r.c.Compaction
	known, learned := c.Window, r.learned.Load()
	if known == 0 && learned == 0 && c.AskWindow != nil && request >= askFrom {
		known = c.AskWindow(ctx)
	}
	if known == 0 || learned > 0 && learned < known {
		return learned
	}
	return known
}

// preflight compacts a conversation that passed the threshold of the window. Implements L1 and S-401.
func (r *run) preflight(ctx context.Context) *Error {
	c := r.c.Compaction
	if c.Store == nil || !c.Settings.Enabled || len(r.history) < r.size.idleUntil {
		return nil
	}
	request := r.size.of(r.history, r.defs)
	window := r.window(ctx, request)
	if window == 0 || request < c.Settings.ThresholdFor(window) {
		return nil
	}
	done, _, err := r.compact(ctx, pass{window: window, request: request, level: 1})
	if !done.Done {
		r.size.idleUntil = len(r.history) + idleMessages
	}
	return err
}

// shrink makes a conversation smaller that the model refused as too long, at level or, when that reclaims nothing, at a
// tighter one, and returns the level that did. Each level is tried once in a request, so there is an end to it.
func (r *run) shrink(ctx context.Context, level int, turn *Error, refused *llm.Error) (int, *Error) {
	if w := compaction.StatedWindow(refused.Message); w > 0 && refused.Reason == llm.ReasonContextOverflow {
		r.learned.Store(w)
	}
	for ; level <= r.c.Compaction.Settings.MaxAttempts; level++ {
		// The refused request is an upper bound of the window, whatever is said elsewhere.
		window := r.size.of(r.history, r.defs)
		if w := r.window(ctx, 0); w > 0 {
			window = min(window, w)
		}
		done, again, err := r.compact(ctx, r.forced(window, level))
		switch {
		case err != nil:
			return level, err
		case !again.IsZero():
			turn.RetryAt, turn.Detail = again, DetailCompacting
			turn.Err = fmt.Errorf("the conversation has to be compacted first, which somebody else is doing until %s at the latest: try again then (%w)",
				again.Format(time.TimeOnly), turn.Err)
			return level, turn
		case done.Done:
			return level, nil
		}
	}
	return level, tooLong(refused)
}

// forced is the attempt at a level to make a request fit that the model refuses or would refuse.
func (r *run) forced(window int64, level int) pass {
	return pass{window: window >> (level - 1), force: true, level: level, last: level > 2 || level == r.c.Compaction.Settings.MaxAttempts}
}

// tooLong says what a person can do when nothing is left to compact.
func tooLong(cause error) *Error {
	return &Error{Kind: KindTooLong, Err: fmt.Errorf("the conversation does not fit into the model's window, and compacting it "+
		"makes it no smaller: say it in fewer words, begin a new session, or give the profile a model with a larger "+
		"window (%w)", cause)}
}

// refit gives the messages of this request for a model with another window: compacted first when they pass its
// threshold. It is the Refit of requests. Implements L19.
func (r *run) refit(ctx context.Context, window int64) ([]llm.Message, error) {
	c := r.c.Compaction
	if c.Store == nil || !c.Settings.Enabled || window <= 0 {
		return injected(r.history, r.t.Inject), nil
	}
	for level := 1; level <= c.Settings.MaxAttempts && r.size.of(r.history, r.defs) >= c.Settings.ThresholdFor(window); level++ {
		if _, _, err := r.compact(ctx, r.forced(window, level)); err != nil {
			return nil, err
		}
	}
	return injected(r.history, r.t.Inject), nil
}

// Compress compacts a session now because a person asked for it, whatever its size; focus is what they want to be kept in
// particular. The session must not be answering.
func (l *Loop) Compress(ctx context.Context, sessionID, focus string) (Compacted, error) {
	if l.c.Compaction.Store == nil {
		return Compacted{}, invalid("this agent does not compact sessions")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{Loop: l, t: Turn{SessionID: sessionID}, result: Result{SessionID: sessionID}}
	if !l.enter(sessionID, cancel) {
		return Compacted{}, &Error{Kind: KindBusy, Err: fmt.Errorf("session %s is answering already", sessionID)}
	}
	defer l.leave(sessionID)
	s, found, err := l.c.Store.Session(ctx, sessionID)
	if err != nil {
		return Compacted{}, r.readError(ctx, err)
	}
	if !found {
		return Compacted{}, invalid("there is no session " + sessionID)
	}
	r.prompt = s.SystemPrompt
	rows, err := l.c.Store.Messages(ctx, sessionID)
	if err != nil {
		return Compacted{}, r.readError(ctx, err)
	}
	// The tail may have at most half of what is there, else a short session would stay as it is.
	window := 5 * compaction.TotalTokens(rows) / 2
	if w := r.window(ctx, 0); w > 0 {
		window = min(window, w)
	}
	done, again, failed := r.compact(ctx, pass{window: window, force: true, asked: true, level: 1, focus: focus})
	if failed != nil {
		return done, failed
	}
	if !again.IsZero() {
		return done, &Error{Kind: KindBusy, RetryAt: again, Err: fmt.Errorf("session %s is being compacted already, until %s at the latest", sessionID, again.Format(time.TimeOnly))}
	}
	return done, nil
}
