package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// compactionSettings are the keys compression.* and the model's window.
type compactionSettings struct {
	compaction.Settings
	// window is the model's window in tokens, 0 when the configuration does not say.
	window int64
}

// readCompaction takes them out of a configuration. Implements the keys of S-401.
func readCompaction(c *home.Config) (s compactionSettings, err error) {
	s.Settings = compaction.Defaults()
	s.Enabled = !c.IsFalse("compression", "enabled")
	s.TailMode = firstOf(c.String("compression", "tail_mode"), s.TailMode)
	if c.IsFalse("compression", "in_place") {
		return s, errors.New("compression.in_place is false: sessions are compacted in place and keep their id, so remove the key")
	}
	for _, k := range []struct {
		section, key string
		set          func(int64)
	}{
		{"compression", "protect_first_n", func(n int64) { s.ProtectFirstN = int(n) }},
		{"compression", "protect_last_n", func(n int64) { s.ProtectLastN = int(n) }},
		{"compression", "min_tail_user_messages", func(n int64) { s.MinTailUserMessages = int(n) }},
		{"compression", "max_attempts", func(n int64) { s.MaxAttempts = int(n) }},
		{"compression", "threshold_tokens", func(n int64) { s.ThresholdTokens = n }},
		{"model", "context_window", func(n int64) { s.window = n }},
		{"model", "context_length", func(n int64) { s.window = n }},
	} {
		if n, ok := c.Int(k.section, k.key); ok {
			k.set(n)
		} else if v, set := c.Lookup(k.section, k.key); set && v != nil {
			return s, fmt.Errorf("%s.%s is %v: use a whole number", k.section, k.key, v)
		}
	}
	for _, k := range []struct {
		key  string
		into *float64
	}{{"target_ratio", &s.TargetRatio}, {"threshold", &s.Threshold}} {
		if n, ok := c.Float("compression", k.key); ok {
			*k.into = n
		} else if v, set := c.Lookup("compression", k.key); set && v != nil {
			return s, fmt.Errorf("compression.%s is %v: use a number", k.key, v)
		}
	}
	if s.window < 0 {
		return s, fmt.Errorf("the model's context window is %d: use its size in tokens", s.window)
	}
	return s, s.Check()
}

// config is how a loop compacts the sessions of this profile.
func (s compactionSettings) config(provider string, model *llm.Chain, lazy *lazyStore, runID string) agent.CompactionConfig {
	return agent.CompactionConfig{
		Store: agentStore{lazy}, Settings: s.Settings, Window: s.window, AskWindow: model.Window, Holder: "gateway " + runID,
		NoModel: provider == llm.ProviderDemo, // a script writes no summaries
	}
}

var _ agent.CompactionStore = agentStore{}

// LockCompaction implements agent.CompactionStore.
func (a agentStore) LockCompaction(ctx context.Context, sessionID, holder string, ttl time.Duration) (bool, time.Time, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return false, time.Time{}, err
	}
	defer release()
	return st.LockCompaction(ctx, sessionID, holder, ttl)
}

// UnlockCompaction implements agent.CompactionStore.
func (a agentStore) UnlockCompaction(ctx context.Context, sessionID, holder string) error {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return st.UnlockCompaction(ctx, sessionID, holder)
}

// CompactionState implements agent.CompactionStore.
func (a agentStore) CompactionState(ctx context.Context, sessionID string) (store.CompactionState, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return store.CompactionState{}, err
	}
	defer release()
	return st.CompactionState(ctx, sessionID)
}

// SetCompactionState implements agent.CompactionStore.
func (a agentStore) SetCompactionState(ctx context.Context, sessionID string, state store.CompactionState) error {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return st.SetCompactionState(ctx, sessionID, state)
}

// Compact implements agent.CompactionStore.
func (a agentStore) Compact(ctx context.Context, c store.Compaction) ([]store.Message, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return st.Compact(ctx, c)
}

// Compress compacts a session now because a person asked for it; focus is what they want to be kept in particular. It
// is done like a turn: one at a time in a session, stopped by Stop, and a panic ends here.
func (r *Runtime) Compress(ctx context.Context, sessionID, focus string) (done agent.Compacted, err error) {
	if err := r.admit(); err != nil {
		return agent.Compacted{}, err
	}
	defer r.leave()
	defer func() { r.noteStore(ctx, err) }()
	defer r.catch(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	if err := r.claim(sessionID, cancel); err != nil {
		return agent.Compacted{}, err
	}
	defer r.unclaim(sessionID)
	e, _, err := r.enter()
	if err != nil {
		return agent.Compacted{}, err
	}
	defer e.turns.Done()
	_, release, err := r.store.acquire(ctx)
	if err != nil {
		return agent.Compacted{}, err
	}
	defer release()
	return e.loop.Compress(ctx, sessionID, focus)
}
