package process

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"

	"hermes.dev/hermes/runtime/host"
)

const (
	firstAsk = 20 * time.Millisecond
	lastAsk  = time.Second
)

// awaitReady waits until the started gateway answers with its own identity. It
// asks when something changes in the home (the socket appears) and, where that
// cannot be watched, after growing pauses. Implements guarantee G6 (startup).
func (s *supervisor) awaitReady(ctx context.Context, want wanted) {
	s.publish(view{Phase: phaseStarting})
	r := s.intent.Seen.Run
	if s.decide(want).Restart {
		s.stopRun(ctx, stopAsked)
		return
	}
	changed, stop := watchDir(r.Home)
	defer stop()
	deadline := s.eng.opts.Clock.NewTimer(s.heldSince.Add(s.eng.opts.StartDeadline).Sub(s.now()))
	defer deadline.Stop()
	for pause := firstAsk; ; pause = min(2*pause, lastAsk) {
		if answer, err := s.client(r.Home).Identify(ctx); err == nil && s.proves(answer) {
			s.becomeReady(answer)
			return
		}
		timer := s.eng.opts.Clock.NewTimer(pause)
		select {
		case <-s.proc.ended():
			timer.Stop()
			s.settleEnd(ctx, stopNone)
			return
		case <-deadline.C():
			timer.Stop()
			s.stopRun(ctx, stopUnresponsive)
			return
		case <-s.wake:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// becomeReady records that the run answered.
func (s *supervisor) becomeReady(answer host.Identity) {
	s.ready, s.identity, s.missed = true, answer, 0
	s.releaseSlot()
	r := s.intent.Seen.Run
	exe := executable(r.PID)
	if !r.ReadyAt.IsZero() && exe == r.Exe {
		return
	}
	if r.ReadyAt.IsZero() {
		r.ReadyAt = s.now()
	}
	// A wrapper script has become the program it wraps by now.
	r.Exe = exe
	if err := s.save(); err != nil {
		s.log.Error(err, "record that the gateway is ready")
	}
}

// watchDir tells of changes in a directory. The channel is nil when it cannot be watched (it may not exist yet).
func watchDir(dir string) (changed <-chan fsnotify.Event, stop func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	stop = func() { _ = watcher.Close() }
	if err := watcher.Add(dir); err != nil {
		return nil, stop
	}
	return watcher.Events, stop
}
