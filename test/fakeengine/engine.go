package fakeengine

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// Run is what a run does: it returns when ctx ends, like a process that drains.
type Run func(ctx context.Context, w engine.Workload, instance string)

// Engine runs gateways in memory. Make one with New.
type Engine struct {
	run     Run
	out     chan engine.Ref
	wake    chan struct{}
	closing chan struct{}
	done    sync.WaitGroup

	mu        sync.Mutex
	workloads map[engine.Ref]*workload
	pending   []engine.Ref
	faults    map[engine.Ref]fault
	held      map[engine.Ref]bool
	ensured   map[engine.Ref]int
	starts    map[engine.Ref]int
}

// fault is what a test made of one workload.
type fault struct {
	observation *engine.Observation
	err         error
}

// workload is one wanted gateway and its run.
type workload struct {
	want engine.Workload
	// ran is what the current run was started with.
	ran      engine.Workload
	id       string
	started  metav1.Time
	cancel   context.CancelFunc
	ended    chan struct{}
	stopping bool
	// answered is set once the run was seen to answer; holding it does not unsay that.
	answered bool
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine whose runs are run; nil makes runs that only wait to be
// stopped. Close ends it.
func New(run Run) *Engine {
	if run == nil {
		run = func(ctx context.Context, _ engine.Workload, _ string) { <-ctx.Done() }
	}
	e := &Engine{
		run: run, out: make(chan engine.Ref), wake: make(chan struct{}, 1), closing: make(chan struct{}),
		workloads: map[engine.Ref]*workload{}, faults: map[engine.Ref]fault{}, held: map[engine.Ref]bool{},
		ensured: map[engine.Ref]int{}, starts: map[engine.Ref]int{},
	}
	e.done.Go(e.announceAll)
	return e
}

// Close ends every run and waits for them.
func (e *Engine) Close() {
	e.mu.Lock()
	close(e.closing)
	var ended []chan struct{}
	for _, w := range e.workloads {
		w.cancel()
		ended = append(ended, w.ended)
	}
	e.mu.Unlock()
	for _, c := range ended {
		<-c
	}
	e.done.Wait()
}

// Ensure implements engine.Engine.
func (e *Engine) Ensure(_ context.Context, want engine.Workload) (engine.Observation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ensured[want.Ref]++
	if err := e.faults[want.Ref].err; err != nil {
		return engine.Observation{}, err
	}
	w, ok := e.workloads[want.Ref]
	switch {
	case !ok && e.dead(want.Ref):
		return *e.faults[want.Ref].observation, nil
	case !ok:
		w = e.start(want)
	case w.stopping:
		// The run that ends is replaced once it is gone.
		w.want = want
	case w.want.UID != want.UID, w.want.RestartToken != want.RestartToken, want.AutoUpdate && settings(w.ran) != settings(want):
		w.want = want
		w.stopping = true
		w.cancel()
	default:
		w.want = want
	}
	return e.observe(w), nil
}

// settings are the parts of a workload that a run cannot take over while it runs.
func settings(w engine.Workload) string {
	return fmt.Sprint(w.Home, w.AdoptExistingHome, w.Env, w.MemoryLimit, w.LogDir, w.DrainTimeout)
}

// Stop implements engine.Engine.
func (e *Engine) Stop(_ context.Context, ref engine.Ref) (engine.Observation, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.faults[ref].err; err != nil {
		return engine.Observation{}, false, err
	}
	w, ok := e.workloads[ref]
	if !ok {
		return engine.Observation{Reason: v1alpha1.ReasonDeleting, Message: "stopped"}, true, nil
	}
	w.stopping, w.want = true, engine.Workload{}
	if !e.held[ref] {
		w.cancel()
	}
	return e.observe(w), false, nil
}

// Changes implements engine.Engine.
func (e *Engine) Changes() <-chan engine.Ref { return e.out }

// start begins a run. The caller holds the lock.
func (e *Engine) start(want engine.Workload) *workload {
	e.starts[want.Ref]++
	ctx, cancel := context.WithCancel(context.Background())
	w := &workload{
		want: want, ran: want, id: fmt.Sprintf("%s-run-%d", want.Name, e.starts[want.Ref]),
		started: metav1.NewTime(time.Now().Truncate(time.Second)), cancel: cancel, ended: make(chan struct{}),
	}
	e.workloads[want.Ref] = w
	e.done.Go(func() {
		e.run(ctx, w.ran, w.id)
		<-ctx.Done()
		e.endOf(w)
	})
	e.announce(want.Ref)
	return w
}

// endOf removes a run that ended and starts the one that was wanted meanwhile.
func (e *Engine) endOf(w *workload) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ref := w.ran.Ref
	delete(e.workloads, ref)
	close(w.ended)
	if w.want.Name != "" && !e.isClosing() && !e.dead(ref) {
		e.start(w.want)
	}
	e.announce(ref)
}

// dead reports whether a fault says that nothing of a workload runs. The caller holds the lock.
func (e *Engine) dead(ref engine.Ref) bool {
	f := e.faults[ref].observation
	return f != nil && f.Instance == nil
}

func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// observe says what is known of a workload. The caller holds the lock.
func (e *Engine) observe(w *workload) engine.Observation {
	ref := w.ran.Ref
	started := w.started
	o := engine.Observation{
		Instance: &v1alpha1.GatewayInstance{ID: w.id, PID: 4000 + int64(e.starts[ref]), StartedAt: &started, Revision: "test", APISocket: w.ran.Home + "/api.sock"},
	}
	if f := e.faults[ref].observation; f != nil {
		seen := *f
		if seen.Instance != nil {
			seen.Instance = o.Instance // a fault of a run that is there is a fault of this run
		}
		return seen
	}
	switch {
	case w.stopping:
		o.Reason, o.Message, o.CurrentMessage = v1alpha1.ReasonDraining, "takes no new work", "the gateway does not run"
	case e.held[ref] && !w.answered:
		o.Reason, o.Message, o.CurrentMessage = v1alpha1.ReasonStarting, "has not answered yet", "the gateway does not run"
	default:
		w.answered = true
		o.Running, o.Reason, o.Message = true, v1alpha1.ReasonRunning, "answers"
		o.Current = settings(w.ran) == settings(w.want)
		if !o.Current {
			o.CurrentMessage = "runs with older settings: restart it"
		}
	}
	return o
}

// announceAll hands announcements to one reader; announcing never waits.
func (e *Engine) announceAll() {
	for {
		e.mu.Lock()
		var next *engine.Ref
		if len(e.pending) > 0 {
			ref := e.pending[0]
			next, e.pending = &ref, e.pending[1:]
		}
		e.mu.Unlock()
		if next == nil {
			select {
			case <-e.wake:
				continue
			case <-e.closing:
				return
			}
		}
		select {
		case e.out <- *next:
		case <-e.closing:
			return
		}
	}
}

// announce remembers one change. The caller holds the lock.
func (e *Engine) announce(ref engine.Ref) {
	for _, p := range e.pending {
		if reflect.DeepEqual(p, ref) {
			return
		}
	}
	e.pending = append(e.pending, ref)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
