package profile

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// family is the children of one delegation.
type family struct {
	r       *Runtime
	e       *engine
	parent  store.Session
	tasks   []delegation.Task
	allowed [][]string // names of tools by task
	ids     []string   // sessions by task
	approve tools.ApproveFunc
	began   time.Time
}

// prepare reads who delegates and settles which tools each child gets, before anything is stored.
func (f *family) prepare(ctx context.Context, parent string) error {
	s, release, err := f.r.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	p, ok, err := s.Session(ctx, parent)
	if err != nil || !ok {
		return fmt.Errorf("delegate_task is for the turn of a session: %w", missing(parent, ok))
	}
	f.parent = p
	for i, t := range f.tasks {
		names, err := f.e.tools.set.ForChild(t.Toolsets)
		if err != nil {
			return fmt.Errorf("task %d: %w", i+1, err)
		}
		f.allowed = append(f.allowed, names)
		id, err := session.NewID(f.r.o.Clock.Now(), nil)
		if err != nil {
			return err
		}
		f.ids = append(f.ids, id)
	}
	return nil
}

// enter stores the children's sessions, so that they exist before any of them runs.
//
// Implements the _delegate_from marker of S-103.
func (f *family) enter(ctx context.Context) error {
	s, release, err := f.r.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	config, err := session.Mark("", session.DelegateFrom, f.parent.ID)
	if err != nil {
		return err
	}
	for _, id := range f.ids {
		_, _, err := s.EnsureSession(ctx, store.Session{
			ID: id, ParentID: f.parent.ID, ModelConfig: config, Source: string(session.KindSubagent), CreatedSource: string(session.KindSubagent),
			UserID: f.parent.UserID, CWD: f.parent.CWD, Model: f.e.settings.model, ProfileName: f.r.Name(), StartedAt: f.r.o.Clock.Now(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// failed is the results of children that could not begin.
func (f *family) failed(err error) []delegation.Result {
	out := make([]delegation.Result, len(f.tasks))
	for i, t := range f.tasks {
		out[i] = delegation.Result{TaskIndex: i, Goal: t.Goal, Status: delegation.StatusError, ExitReason: delegation.ExitError, Error: err.Error()}.Bound(len(f.tasks))
	}
	return out
}

// run runs every child, as many at a time as may, and returns their results in the order of the tasks. ended is told
// about each as it ends, one at a time; nil tells nobody. A panic of a child comes out here.
func (f *family) run(ctx context.Context, ended func(delegation.Result)) report {
	results := make([]delegation.Result, len(f.tasks))
	slots := make(chan struct{}, f.e.settings.delegation.children)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	for i := range f.tasks {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					defer mu.Unlock()
					panicked = fmt.Sprintf("%v\n\nchild agent:\n%s", p, debug.Stack())
				}
			}()
			slots <- struct{}{} // never blocks for good: whoever holds one ends with ctx
			defer func() { <-slots }()
			got := f.child(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			results[i] = got
			if ended != nil {
				ended(got)
			}
		})
	}
	wg.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return report{Results: results, Status: delegation.StatusOf(results)}
}

// child runs one child's turn to its end.
func (f *family) child(ctx context.Context, i int) delegation.Result {
	began := f.r.o.Clock.Now()
	res, err := f.turn(ctx, i)
	took := f.r.o.Clock.Since(began)
	f.r.o.Observe(outcomeOf(err), res.Usage, took)
	out := outcome(res, err)
	f.end(ctx, i)
	out.TaskIndex, out.Goal, out.SessionID, out.DurationSeconds = i, f.tasks[i].Goal, f.ids[i], took.Seconds()
	if out.Summary == "" {
		_ = f.r.withStore(context.WithoutCancel(ctx), func(s *store.Store) error {
			rows, err := s.Messages(context.WithoutCancel(ctx), f.ids[i])
			out.Summary = lastWords(rows)
			return err
		})
	}
	return out.Bound(len(f.tasks))
}

// endDelegated is why a child's session ends: it has reported, and can be pruned like any other.
const endDelegated = "delegation_complete"

func (f *family) end(ctx context.Context, i int) {
	ctx = context.WithoutCancel(ctx)
	if err := f.r.withStore(ctx, func(s *store.Store) error { return s.EndSession(ctx, f.ids[i], endDelegated) }); err != nil {
		f.r.o.Log.Error(err, "a child's session was not ended", "session", f.ids[i])
	}
}

// turn is Runtime.Turn for a child: it has its own budget and tools, nobody can say anything to it, and it counts as
// part of the turn, or of the delegation, that runs it.
//
// Implements L6 for children.
func (f *family) turn(ctx context.Context, i int) (agent.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := f.r.claim(f.ids[i], cancel); err != nil {
		return agent.Result{}, err
	}
	defer f.r.unclaim(f.ids[i])
	s := f.e.settings
	loop, err := agent.New(agent.Config{
		Store: agentStore{f.r.store}, Tools: childTools{Set: f.e.tools.set, allowed: f.allowed[i]}, Model: f.e.model, CacheTTL: s.cacheTTL,
		ModelName: s.model, Provider: s.provider, BaseURL: s.baseURL, MaxTurns: s.delegation.iterations,
		SystemPrompt: func(context.Context) (string, error) {
			return delegation.ChildPrompt(s.workspace, f.r.o.Clock.Now().Format("Monday, 2 January 2006")), nil
		},
		Compaction: s.compaction.config(s.provider, f.e.model, f.r.store, f.r.o.RunID),
		Profile:    f.r.Name(), Clock: f.r.o.Clock, Log: f.r.o.Log,
	})
	if err != nil {
		return agent.Result{}, err
	}
	return loop.Run(ctx, agent.Turn{
		SessionID: f.ids[i], Source: string(session.KindSubagent), UserText: f.tasks[i].Say(), TitleFrom: f.tasks[i].Goal, Approve: f.approve,
	}, nil)
}

// childTools is the part of a tool set that a child may use.
type childTools struct {
	*tools.Set
	allowed []string
}

var _ agent.Tools = childTools{}

// Definitions implements agent.Tools.
func (c childTools) Definitions() []tools.Definition {
	return slices.DeleteFunc(c.Set.Definitions(), func(d tools.Definition) bool { return !slices.Contains(c.allowed, d.Name) })
}

// Run implements agent.Tools.
func (c childTools) Run(ctx context.Context, sessionID string, call tools.Call, approve tools.ApproveFunc) tools.Result {
	if !slices.Contains(c.allowed, call.Name) {
		return tools.Result{IsError: true, Content: fmt.Sprintf(`{"error":"a child agent has no tool %q here; it has %q"}`, call.Name, c.allowed)}
	}
	return c.Set.Run(ctx, sessionID, call, approve)
}
