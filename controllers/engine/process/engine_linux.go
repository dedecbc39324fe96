package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

// Engine supervises gateways as child processes of this machine. It is safe for concurrent use.
type Engine struct {
	opts    Options
	store   intentStore
	lock    *host.Lock
	reaper  *reaper
	gate    *startGate
	changes *announcer

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu          sync.Mutex
	supervisors map[engine.Ref]*supervisor
}

var _ engine.Engine = (*Engine)(nil)

// errClosed is what a closed engine answers.
var errClosed = errors.New("the process engine is closed")

// firstLook bounds how long Ensure waits for a new supervisor to find a gateway that runs already.
const firstLook = 3 * time.Second

// New returns an engine that owns o.Dir until Close. It refuses a directory
// that another living engine owns. It makes this process the collector of its
// orphaned descendants.
func New(o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the engine's state directory: %w", err)
	}
	attempt := host.TryLock(filepath.Join(o.Dir, "engine.lock"))
	switch attempt.Outcome {
	case host.HeldByAnother:
		return nil, fmt.Errorf("another hermes operator supervises the gateways of %s: stop it, or use another --data directory", o.Dir)
	case host.CouldNotOpen:
		return nil, fmt.Errorf("lock the engine's state directory: %w", attempt.Err)
	}
	if err := orphan.Adopt(); err != nil {
		return nil, errors.Join(err, attempt.Lock.Release())
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{
		opts:        o,
		store:       intentStore{dir: o.Dir},
		lock:        attempt.Lock,
		reaper:      newReaper(o.Clock),
		gate:        newStartGate(o.Clock, o.MaxConcurrentStarts, o.StartInterval),
		changes:     newAnnouncer(),
		ctx:         ctx,
		cancel:      cancel,
		supervisors: map[engine.Ref]*supervisor{},
	}
	e.wg.Go(func() { e.reaper.run(ctx) })
	e.wg.Go(func() { e.changes.run(ctx) })
	return e, nil
}

// Run blocks until ctx ends and then closes the engine. Gateways keep running.
func (e *Engine) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-e.ctx.Done():
	}
	return e.Close()
}

// Close lets all gateways go without touching them and waits for the engine's
// goroutines. The next engine of the same directory adopts them. Implements G1.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.cancel()
	e.mu.Unlock()
	e.wg.Wait()
	return e.lock.Release()
}

// Changes announces workloads whose observation may have changed. It is never closed.
func (e *Engine) Changes() <-chan engine.Ref { return e.changes.out }

// Known lists every workload the engine remembers, running or not. What has no
// Gateway object any more is to be stopped.
func (e *Engine) Known() ([]engine.Ref, error) { return e.store.list() }

// Ensure implements engine.Engine. A workload it hears of for the first time is
// looked for among the running processes before it answers, so that a new
// operator does not report a gateway as starting that it adopts.
func (e *Engine) Ensure(ctx context.Context, w engine.Workload) (engine.Observation, error) {
	if err := checkWorkload(w); err != nil {
		return engine.Observation{}, err
	}
	s, err := e.supervisor(w.Ref, wanted{State: desiredRunning, Workload: w, Settings: settingsOf(w, e.opts)})
	if err != nil {
		return engine.Observation{}, err
	}
	if err := s.awaitFirstLook(ctx, firstLook); err != nil {
		return engine.Observation{}, err
	}
	return s.observation(), nil
}

// Stop implements engine.Engine.
func (e *Engine) Stop(ctx context.Context, ref engine.Ref) (engine.Observation, bool, error) {
	e.mu.Lock()
	_, active := e.supervisors[ref]
	e.mu.Unlock()
	if !active {
		_, found, err := e.store.load(ref)
		if err != nil {
			return engine.Observation{}, false, err
		}
		if !found {
			return stoppedObservation(), true, nil
		}
	}
	s, err := e.supervisor(ref, wanted{State: desiredStopped})
	if err != nil {
		return engine.Observation{}, false, err
	}
	if err := s.awaitFirstLook(ctx, firstLook); err != nil {
		return engine.Observation{}, false, err
	}
	return s.observation(), s.isGone(), nil
}

// supervisor hands the wanted state to the workload's supervisor, starting one if there is none.
func (e *Engine) supervisor(ref engine.Ref, want wanted) (*supervisor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return nil, errClosed
	}
	s, ok := e.supervisors[ref]
	if !ok {
		s = newSupervisor(e, ref, want)
		e.supervisors[ref] = s
		e.wg.Go(func() { s.loop(e.ctx) })
		return s, nil
	}
	s.want(want)
	return s, nil
}

// retire removes a supervisor whose workload is gone, unless it is wanted again by now.
func (e *Engine) retire(s *supervisor) (retired bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.wanted().State != desiredStopped {
		return false, nil
	}
	if err := e.store.remove(s.ref); err != nil {
		return false, err
	}
	delete(e.supervisors, s.ref)
	return true, nil
}

func checkWorkload(w engine.Workload) error {
	switch {
	case w.Namespace == "" || w.Name == "":
		return errors.New("workload has no namespace or name")
	case !filepath.IsAbs(w.Home):
		return fmt.Errorf("home %q of gateway %s is not absolute", w.Home, w.Ref)
	case w.LogDir != "" && !filepath.IsAbs(w.LogDir):
		return fmt.Errorf("log directory %q of gateway %s is not absolute", w.LogDir, w.Ref)
	case w.DrainTimeout < 0:
		return fmt.Errorf("drain timeout of gateway %s is negative", w.Ref)
	case w.MemoryLimit < 0:
		return fmt.Errorf("memory limit of gateway %s is negative", w.Ref)
	}
	return nil
}
