package gateway

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// A restart is counted by what ended the run before, not by what the new run is doing.
func TestRestartsAreCountedByTheirCause(t *testing.T) {
	for name, tc := range map[string]struct {
		before  int32
		observe engine.Observation
		running string
		counted string
		want    float64
	}{
		"crash":             {0, engine.Observation{Restarts: 1, LastExitReason: v1alpha1.ReasonCrashLoop}, v1alpha1.ReasonStarting, v1alpha1.ReasonCrashLoop, 1},
		"memory":            {1, engine.Observation{Restarts: 3, LastExitReason: v1alpha1.ReasonOutOfMemory}, v1alpha1.ReasonRunning, v1alpha1.ReasonOutOfMemory, 2},
		"not responding":    {0, engine.Observation{Restarts: 1, LastExitReason: v1alpha1.ReasonNotResponding}, v1alpha1.ReasonStarting, v1alpha1.ReasonNotResponding, 1},
		"nothing new":       {2, engine.Observation{Restarts: 2, LastExitReason: v1alpha1.ReasonCrashLoop}, v1alpha1.ReasonRunning, v1alpha1.ReasonCrashLoop, 0},
		"counted from zero": {2, engine.Observation{Restarts: 0}, v1alpha1.ReasonRunning, v1alpha1.ReasonRunning, 0},
		"cause not known":   {0, engine.Observation{Restarts: 1}, v1alpha1.ReasonStarting, v1alpha1.ReasonStarting, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMetrics(nil)
			gw := &v1alpha1.Gateway{}
			gw.Status.Restarts = tc.before
			m.restarted(gw, tc.observe, tc.running)
			registry := prometheus.NewRegistry()
			registry.MustRegister(m.restarts)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, f := range families {
				for _, sample := range f.GetMetric() {
					got[sample.GetLabel()[0].GetValue()] = sample.GetCounter().GetValue()
				}
			}
			want := map[string]float64{}
			if tc.want > 0 {
				want[tc.counted] = tc.want
			}
			if !maps.Equal(got, want) {
				t.Errorf("counted %v, want %v", got, want)
			}
		})
	}
}
