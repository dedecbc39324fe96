package process

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/host"
)

// wanted is what the reconciler asked for last.
type wanted struct {
	State    desiredState
	Workload engine.Workload
	Settings settings
}

// supervisor looks after one workload. One goroutine (loop) owns everything
// below the line; the fields above it are shared under mu.
type supervisor struct {
	eng *Engine
	ref engine.Ref
	log logr.Logger
	// wake tells the loop that want changed.
	wake chan struct{}
	// looked is closed once the loop knows whether a gateway runs already.
	looked chan struct{}

	mu       sync.Mutex
	wantNow  wanted
	observed engine.Observation
	gone     bool

	// ---- owned by loop ----

	intent intent
	// proc holds the process of intent.Seen.Run, nil when none runs.
	proc *handle
	// ready is true once the run answered with proven identity.
	ready    bool
	identity host.Identity
	missed   int
	// family is the descendants of the run when it was last looked at.
	family map[host.ProcessID]bool
	// heldSince is when this engine started or adopted the run; its startup deadline counts from there.
	heldSince time.Time
	// oomBase is the machine's OOM kill count when the run was last seen alive.
	oomBase int64
	// releaseSlot gives the start slot back; it may be called at any time.
	releaseSlot func()
}

func newSupervisor(e *Engine, ref engine.Ref, want wanted) *supervisor {
	return &supervisor{
		eng:         e,
		ref:         ref,
		log:         e.opts.Log.WithValues("gateway", ref.String()),
		wake:        make(chan struct{}, 1),
		looked:      make(chan struct{}),
		wantNow:     want,
		observed:    observe(view{Phase: phaseLooking}),
		releaseSlot: func() {},
	}
}

// want replaces the wanted state. The same state again changes nothing and wakes nobody.
func (s *supervisor) want(w wanted) {
	s.mu.Lock()
	same := reflect.DeepEqual(s.wantNow, w)
	s.wantNow = w
	s.mu.Unlock()
	if !same {
		signalOnce(s.wake)
	}
}

func (s *supervisor) wanted() wanted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wantNow
}

func (s *supervisor) observation() engine.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observed
}

func (s *supervisor) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// awaitFirstLook waits until a running gateway would have been found, at most the given time.
func (s *supervisor) awaitFirstLook(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-s.looked:
	case <-timer.C:
	case <-s.eng.ctx.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// loop converges the workload until the engine closes or the workload is gone.
// Each step blocks until there is something to do: nothing here polls.
func (s *supervisor) loop(ctx context.Context) {
	defer s.letGo()
	s.recover(ctx)
	first := true
	for ctx.Err() == nil {
		want := s.wanted()
		s.takeOver(want)
		if first {
			first = false
			s.announceFirst(want)
		}
		switch {
		case want.State == desiredStopped && s.proc == nil:
			if s.finishStopped(ctx) {
				return
			}
		case want.State == desiredStopped:
			s.stopRun(ctx, stopAsked)
		case s.proc != nil && s.intent.Seen.Run.Stopping:
			// A drained gateway takes no work, so a stop that was begun is finished whatever is wanted by now.
			s.stopRun(ctx, stopAsked)
		case s.proc == nil:
			s.startWhenDue(ctx, want)
		case !s.ready:
			s.awaitReady(ctx, want)
		default:
			s.watchRun(ctx, want)
		}
	}
}

// announceFirst publishes what the first look found and lets Ensure answer.
func (s *supervisor) announceFirst(want wanted) {
	defer close(s.looked)
	switch {
	case s.proc != nil && s.ready:
		s.publishRunning(want)
	case s.proc != nil:
		s.publish(view{Phase: phaseStarting})
	}
}

// takeOver records a changed desired state. Counters start again with a new
// workload; what failed before says nothing about it.
func (s *supervisor) takeOver(want wanted) {
	now := desired{State: want.State}
	if want.State == desiredStopped {
		// What it was started as still matters for the stop.
		now = s.intent.Desired
		now.State = desiredStopped
	} else {
		w := want.Workload
		now.UID, now.Settings, now.RestartToken, now.DrainTimeout = w.UID, want.Settings, w.RestartToken, w.DrainTimeout
	}
	before := s.intent.Desired
	if reflect.DeepEqual(before, now) {
		return
	}
	s.intent.Desired = now
	if !before.Settings.equal(now.Settings) || before.RestartToken != now.RestartToken {
		s.intent.Seen.Restarts, s.intent.Seen.Failures = 0, 0
		s.intent.Seen.NextAttempt, s.intent.Seen.LastExit = time.Time{}, nil
	}
	if err := s.save(); err != nil {
		s.log.Error(err, "record the wanted state")
	}
}

// finishStopped forgets the workload. It reports whether the loop is done.
func (s *supervisor) finishStopped(ctx context.Context) bool {
	s.publish(view{Phase: phaseStopped})
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	retired, err := s.eng.retire(s)
	if retired {
		s.eng.changes.announce(s.ref)
		return true
	}
	s.mu.Lock()
	s.gone = false
	s.mu.Unlock()
	if err != nil {
		s.trouble(ctx, err)
	}
	return false
}

// letGo drops what this process holds of the gateway; the gateway runs on.
func (s *supervisor) letGo() {
	s.releaseSlot()
	if s.proc != nil {
		s.proc.close()
	}
}

func (s *supervisor) save() error { return s.eng.store.save(s.ref, s.intent) }

// publish makes a view the current observation and announces it when it differs.
func (s *supervisor) publish(v view) {
	v.Seen, v.Identity = s.intent.Seen, s.identity
	o := observe(v)
	s.mu.Lock()
	changed := !reflect.DeepEqual(s.observed, o)
	s.observed = o
	s.mu.Unlock()
	if changed {
		s.log.V(1).Info("gateway changed", "reason", o.Reason, "message", o.Message)
		s.eng.changes.announce(s.ref)
	}
}

// trouble shows the engine's own error and waits a while or for a change.
func (s *supervisor) trouble(ctx context.Context, err error) {
	s.log.Error(err, "supervise gateway")
	s.intent.Seen.Failures++
	pause := backoff(s.intent.Seen.Failures, s.eng.opts.jitter())
	s.intent.Seen.NextAttempt = s.now().Add(pause)
	s.publish(view{Phase: phaseTrouble, Trouble: err})
	s.sleep(ctx, pause)
	s.intent.Seen.NextAttempt = time.Time{}
}

func (s *supervisor) now() time.Time { return s.eng.opts.Clock.Now() }

// sleep waits for a change of what is wanted, the given time or the end of ctx.
func (s *supervisor) sleep(ctx context.Context, d time.Duration) {
	timer := s.eng.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-s.wake:
	case <-ctx.Done():
	}
}

// client asks the control socket of a home.
func (s *supervisor) client(home string) *host.Client {
	client := host.NewClient(home)
	client.Timeout = s.eng.opts.ask
	return client
}
