package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
)

// modelKey is the variable of the profile's .env that holds the model's API key; further keys are _2, _3 and so on.
const modelKey = "HERMES_MODEL_API_KEY"

// engine is the agent built from one state of the configuration. A turn keeps the
// engine it started with; a change of configuration builds a new one for the next turn.
type engine struct {
	loop     *agent.Loop
	model    *llm.Client // nil for the demo
	tools    *toolBox
	settings settings
	config   *home.Config
	environ  []string
	// turns holds the turns that run on this engine.
	turns sync.WaitGroup
}

// toolBox is a tool set shared by the engines that need the same one; the last to leave closes it.
type toolBox struct {
	set *tools.Set

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
	return t.set.Close(ctx)
}

// enter returns the engine for the configuration and secrets as they are on disk now,
// with one more turn on it: e.turns.Done must follow.
func (r *Runtime) enter() (*engine, error) {
	config := r.config.Config()
	environ, err := r.env.Environment()
	if err := errors.Join(r.config.Err(), err); err != nil {
		return nil, fmt.Errorf("read the profile's configuration: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if e := r.engine; e == nil || e.config != config || !slices.Equal(e.environ, environ) {
		e, err := r.build(config, environ)
		if err != nil {
			return nil, err
		}
		r.retire(r.engine)
		r.engine = e
	}
	// Counted under the lock, so that an engine is never retired between being chosen and being used.
	r.engine.turns.Add(1)
	return r.engine, nil
}

// build makes an engine; r.mu is held.
func (r *Runtime) build(config *home.Config, environ []string) (*engine, error) {
	s, err := readSettings(config, r.o.Paths)
	if err != nil {
		return nil, err
	}
	e := &engine{settings: s, config: config, environ: environ}
	model, err := r.model(e, s)
	if err != nil {
		return nil, err
	}
	if old := r.engine; old != nil && old.settings.sameTools(s) && slices.Equal(old.environ, environ) {
		e.tools = old.tools.retain()
	} else if e.tools, err = r.newTools(s, environ); err != nil {
		return nil, err
	}
	e.loop, err = agent.New(agent.Config{
		Store: agentStore{r.store}, Tools: e.tools.set, Model: model,
		ModelName: s.model, Provider: s.provider, BaseURL: s.baseURL, MaxTurns: s.maxTurns,
		SystemPrompt: func(ctx context.Context) (string, error) {
			return systemPrompt(ctx, r.o.Paths, s.workspace, r.o.Clock.Now())
		},
		Profile: r.o.Paths.Name, Clock: r.o.Clock, Log: r.o.Log,
	})
	if err != nil {
		return nil, errors.Join(err, e.tools.release(context.Background()))
	}
	return e, nil
}

func (r *Runtime) model(e *engine, s settings) (llm.Model, error) {
	if s.provider == llm.ProviderDemo {
		return llm.Demo{}, nil
	}
	route, err := llm.NewRoute(s.provider, s.baseURL)
	if err != nil {
		return nil, err
	}
	c, err := llm.NewClient(llm.Options{Route: route, Keys: r.keys(), Transport: r.o.Transport, Clock: r.o.Clock, Log: r.o.Log})
	if err != nil {
		return nil, err
	}
	e.model = c
	return c, nil
}

// keys reads the model's keys from the profile's own .env at every use, so that a
// revoked key is gone at once.
func (r *Runtime) keys() llm.KeySource {
	return func(context.Context) ([]string, error) {
		environ, err := r.env.Environment()
		if err != nil {
			return nil, err
		}
		return modelKeys(environ), nil
	}
}

// modelKeys picks the model's keys out of a profile's variables, in the order in which they were declared.
func modelKeys(environ []string) []string {
	type numbered struct {
		n     int
		value string
	}
	var keys []numbered
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" {
			continue
		}
		if name == modelKey {
			keys = append(keys, numbered{1, value})
			continue
		}
		suffix, ok := strings.CutPrefix(name, modelKey+"_")
		if n, err := strconv.Atoi(suffix); ok && err == nil {
			keys = append(keys, numbered{n, value})
		}
	}
	slices.SortFunc(keys, func(a, b numbered) int { return a.n - b.n })
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, k.value)
	}
	return out
}

func (r *Runtime) newTools(s settings, environ []string) (*toolBox, error) {
	set, err := tools.NewSet(tools.Config{
		Workspace: s.workspace, Home: r.o.Paths.Home,
		Toolsets: s.toolsets, DisabledToolsets: s.disabled,
		Mode: s.mode, Allow: s.allow, Environ: toolEnviron(environ),
		Log: r.o.Log, Clock: r.o.Clock, RunID: r.o.RunID,
	})
	if err != nil {
		return nil, err
	}
	return (&toolBox{set: set}).retain(), nil
}

// toolEnviron is what a command sees of the profile's .env: everything but what the
// runtime keeps for itself (model and server keys start with HERMES_).
func toolEnviron(environ []string) []string {
	var out []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "HERMES_") {
			out = append(out, entry)
		}
	}
	return out
}

// retire closes an engine once its turns are over.
func (r *Runtime) retire(e *engine) {
	if e == nil {
		return
	}
	r.background.Add(1)
	go func() {
		defer r.background.Done()
		e.turns.Wait()
		if e.model != nil {
			e.model.Close()
		}
		if err := e.tools.release(context.Background()); err != nil {
			r.o.Log.Error(err, "close tools")
		}
	}()
}
