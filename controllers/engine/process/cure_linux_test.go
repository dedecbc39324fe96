package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
)

// G5: HomeNotOurs clears by itself when the cause goes, whichever way; nothing is written and nothing started before.
func TestForeignHomeClearsByItself_G5(t *testing.T) {
	for name, cure := range map[string]func(w *world){
		"emptied": func(w *world) { w.remove("SOUL.md") },
		"replaced": func(w *world) {
			for _, err := range []error{os.RemoveAll(w.home), os.Mkdir(w.home, 0o700)} {
				if err != nil {
					w.t.Fatal(err)
				}
			}
			w.touch("welcome")
		},
		"marked as ours": func(w *world) {
			if err := os.WriteFile(filepath.Join(w.home, ".hermes-managed.json"), []byte(`{"version":1}`), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.engine()
			load := w.workload(modeRefuse)
			o := w.awaitReason(e, load, v1alpha1.ReasonHomeNotOurs)
			if !o.Stalled || !o.NextAttempt.IsZero() {
				t.Errorf("observation: %+v", o)
			}
			written, started := w.intentTime(), w.notes("started")
			w.touch("somebody-writes-here") // a change that is no cure
			for range 3 {
				w.awaitReason(e, load, v1alpha1.ReasonHomeNotOurs)
			}
			if w.intentTime() != written || w.notes("started") != started {
				t.Error("written or started while the refusal stands")
			}
			w.touch("welcome")
			cure(w)
			if o := w.awaitRunning(e, load); o.Instance == nil {
				t.Errorf("observation: %+v", o)
			}
			w.stop(e)
		})
	}
}

// G5: an engine that starts after the cause went sees it, and a gateway that refuses what the engine finds free is
// tried again with back-off, never in a hot loop.
func TestDisagreementAboutAHomeBacksOff_G5(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	e := w.engine()
	load := w.workload(modeRefuse)
	w.awaitReason(e, load, v1alpha1.ReasonHomeNotOurs)
	var pauses []time.Duration
	for attempt := 2; attempt <= 4; attempt++ {
		awaitWaiter(t, clk)
		w.remove("SOUL.md") // the gateway makes it again and refuses again
		await(t, "the cure to be seen", func() bool {
			clk.Step(cureSettle)
			return !w.readIntent().Seen.NextAttempt.IsZero() || w.notes("started") >= attempt
		}, nil)
		failures := w.readIntent().Seen.Failures
		pauses = append(pauses, backoff(failures, 0))
		await(t, "the next start", func() bool { clk.Step(100 * time.Millisecond); return w.notes("started") >= attempt }, nil)
		w.awaitReason(e, load, v1alpha1.ReasonHomeNotOurs)
	}
	if pauses[0] >= pauses[1] || pauses[1] >= pauses[2] {
		t.Errorf("pauses %v do not grow", pauses)
	}
	w.stop(e)
}
