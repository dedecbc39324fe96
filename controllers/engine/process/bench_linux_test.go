package process

import (
	"testing"
)

// BenchmarkAdopt measures from a new engine to the answer that a running gateway is adopted.
func BenchmarkAdopt(b *testing.B) {
	w := newWorld(b)
	load := w.workload()
	first, err := New(w.opts)
	if err != nil {
		b.Fatal(err)
	}
	w.awaitRunning(first, load)
	if err := first.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, err := New(w.opts)
		if err != nil {
			b.Fatal(err)
		}
		if o := w.ensure(e, load); !o.Running {
			b.Fatalf("not adopted: %+v", o)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	e := w.engine()
	w.stop(e)
}

// BenchmarkStartStop measures a whole life: spawn, ready, drain, end, forgotten.
func BenchmarkStartStop(b *testing.B) {
	w := newWorld(b)
	e := w.engine()
	for b.Loop() {
		w.awaitRunning(e, w.workload())
		w.stop(e)
	}
}

// BenchmarkSettledEnsure measures the question of a reconciler that has nothing to change.
func BenchmarkSettledEnsure(b *testing.B) {
	w := newWorld(b)
	e := w.engine()
	load := w.workload()
	w.awaitRunning(e, load)
	for b.Loop() {
		w.ensure(e, load)
	}
	b.StopTimer()
	w.stop(e)
}
