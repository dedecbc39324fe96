package fakeengine

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ref = engine.Ref{Namespace: "ns", Name: "gw"}

func wanted(change func(*engine.Workload)) engine.Workload {
	w := engine.Workload{Ref: ref, UID: "1", Home: "/h", AutoUpdate: true}
	if change != nil {
		change(&w)
	}
	return w
}

// next waits for one announcement.
func next(t *testing.T, e *Engine) {
	t.Helper()
	select {
	case <-e.Changes():
	case <-time.After(5 * time.Second):
		t.Fatal("nothing was announced")
	}
}

func ensure(t *testing.T, e *Engine, w engine.Workload) engine.Observation {
	t.Helper()
	o, err := e.Ensure(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEnsureIsIdempotent(t *testing.T) {
	e := New(nil)
	defer e.Close()
	first := ensure(t, e, wanted(nil))
	second := ensure(t, e, wanted(nil))
	if !first.Running || second.Instance.ID != first.Instance.ID || e.Starts(ref) != 1 {
		t.Errorf("first %+v, second %+v, %d starts", first, second, e.Starts(ref))
	}
}

func TestRestarts(t *testing.T) {
	cases := []struct {
		name    string
		change  func(*engine.Workload)
		restart bool
		current bool
	}{
		{"nothing", nil, false, true},
		{"restart token", func(w *engine.Workload) { w.RestartToken = "now" }, true, true},
		{"settings", func(w *engine.Workload) { w.MemoryLimit = 1 }, true, true},
		{"settings, manual", func(w *engine.Workload) { w.MemoryLimit, w.AutoUpdate = 1, false }, false, false},
		{"recreated object", func(w *engine.Workload) { w.UID = "2" }, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := New(nil)
			defer e.Close()
			first := ensure(t, e, wanted(nil))
			next(t, e)
			ensure(t, e, wanted(c.change))
			if c.restart {
				next(t, e)
			}
			o := ensure(t, e, wanted(c.change))
			if (o.Instance.ID != first.Instance.ID) != c.restart || o.Current != c.current {
				t.Errorf("restarted %v, current %v: %+v", o.Instance.ID != first.Instance.ID, o.Current, o)
			}
		})
	}
}

func TestStopIsGoneOnlyWhenTheRunEnded(t *testing.T) {
	running := make(chan struct{})
	e := New(func(ctx context.Context, _ engine.Workload, _ string) { close(running); <-ctx.Done() })
	defer e.Close()
	ensure(t, e, wanted(nil))
	<-running
	e.Hold(ref)
	o, gone, err := e.Stop(t.Context(), ref)
	if err != nil || gone || o.Reason != v1alpha1.ReasonDraining {
		t.Errorf("stop of a held run: %+v, gone %v, %v", o, gone, err)
	}
	e.Release(ref)
	for gone = false; !gone; {
		next(t, e)
		if _, gone, err = e.Stop(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := e.Workload(ref); ok {
		t.Error("a run is there after gone")
	}
}

func TestFaults(t *testing.T) {
	e := New(nil)
	defer e.Close()
	ensure(t, e, wanted(nil))
	e.Observe(ref, engine.Observation{Reason: v1alpha1.ReasonCrashLoop, Message: "m"})
	if o := ensure(t, e, wanted(nil)); o.Running || o.Reason != v1alpha1.ReasonCrashLoop || o.Instance != nil {
		t.Errorf("%+v", o)
	}
	broken := errors.New("broken")
	e.Fail(ref, broken)
	if _, err := e.Ensure(t.Context(), wanted(nil)); !errors.Is(err, broken) {
		t.Errorf("err %v", err)
	}
	e.Recover(ref)
	if o := ensure(t, e, wanted(nil)); !o.Running {
		t.Errorf("%+v", o)
	}
}
