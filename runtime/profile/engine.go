package profile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
)

// engine is the agent built from one state of the configuration. A turn keeps the
// engine it started with; a change of configuration builds a new one for the next turn.
type engine struct {
	loop     *agent.Loop
	model    *llm.Chain
	tools    *toolBox
	settings settings
	config   *home.Config
	environ  []string
	keyed    keyed // the servers for which there is, or once was, a key
	// turns holds the turns that run on this engine.
	turns sync.WaitGroup
}

// toolBox is a tool set shared by the engines that need the same one; the last to leave closes it.
type toolBox struct {
	set *tools.Set
	// detach takes the set from the MCP servers.
	detach func()

	mu    sync.Mutex
	users int
}

func (t *toolBox) retain() *toolBox {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users++
	return t
}

func (t *toolBox) release(ctx context.Context) error {
	t.mu.Lock()
	t.users--
	last := t.users == 0
	t.mu.Unlock()
	if !last {
		return nil
	}
	t.detach()
	return t.set.Close(ctx)
}

// enter returns the engine for the configuration and secrets as they are on disk now,
// and what its model calls are made with, with one more turn on it: e.turns.Done must follow. A configuration that cannot be
// used is a ConfigError: the last good one may allow what was taken back since.
func (r *Runtime) enter() (*engine, access, error) {
	r.Connect()
	config, err := r.config.Read()
	if err != nil {
		return nil, access{}, &ConfigError{Err: err}
	}
	environ, err := r.env.Environment()
	if err != nil {
		return nil, access{}, &ConfigError{Err: err}
	}
	ring, err := r.readKeys(config)
	if err != nil {
		return nil, access{}, &ConfigError{Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, access{}, ErrClosed
	}
	r.hadKey = r.hadKey.with(ring)
	if e := r.engine; e == nil || e.config != config || !maps.Equal(e.keyed, r.hadKey) || !slices.Equal(e.environ, environ) {
		e, err := r.build(config, environ)
		if err != nil {
			return nil, access{}, &ConfigError{Err: err}
		}
		r.retire(r.engine)
		r.engine = e
	}
	// Counted under the lock, so that an engine is never retired between being chosen and being used.
	r.engine.turns.Add(1)
	return r.engine, accessWith(config, ring.keys), nil
}

// build makes an engine; r.mu is held.
func (r *Runtime) build(config *home.Config, environ []string) (*engine, error) {
	s, err := readSettings(config, r.o.Paths)
	if err != nil {
		return nil, err
	}
	e := &engine{settings: s, config: config, environ: environ, keyed: r.hadKey}
	if e.model, err = r.chain(s, e.keyed); err != nil {
		return nil, err
	}
	if old := r.engine; old != nil && old.settings.sameTools(s) && slices.Equal(old.environ, environ) {
		e.tools = old.tools.retain()
	} else if e.tools, err = r.newTools(s, environ); err != nil {
		return nil, err
	}
	e.loop, err = agent.New(agent.Config{
		Store: agentStore{r.store}, Tools: e.tools.set, Model: e.model, CacheTTL: s.cacheTTL,
		ModelName: s.model, Provider: s.provider, BaseURL: s.baseURL, MaxTurns: s.maxTurns,
		SystemPrompt: func(ctx context.Context) (string, error) {
			return systemPrompt(ctx, r.o.Paths, s.workspace, e.tools.set.Prompt(ctx), r.o.Clock.Now())
		},
		Compaction: s.compaction.config(s.provider, e.model, r.store, r.o.RunID),
		Profile:    r.o.Paths.Name, Clock: r.o.Clock, Log: r.o.Log,
	})
	if err != nil {
		return nil, errors.Join(err, e.tools.release(context.Background()))
	}
	return e, nil
}

// retire closes an engine once its turns are over. Call it while the runtime's
// background is held: under r.mu of an open runtime, or inside a turn.
func (r *Runtime) retire(e *engine) {
	if e == nil {
		return
	}
	r.background.Go(func() {
		defer r.contain()
		e.turns.Wait()
		e.model.Close()
		if err := e.tools.release(context.Background()); err != nil {
			r.o.Log.Error(err, "close tools")
		}
	})
}
