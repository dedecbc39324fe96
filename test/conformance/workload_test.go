package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// workloadFields are the fields of a Gateway whose effect is what the engine runs.
var workloadFields = map[string]struct {
	change func(w *world, s *v1alpha1.GatewaySpec)
	seen   func(w *world, run engine.Workload) bool
}{
	"Gateway.home": {
		func(w *world, s *v1alpha1.GatewaySpec) { s.Home = suite.homes + "/elsewhere-" + w.ns },
		func(w *world, run engine.Workload) bool { return run.Home == suite.homes+"/elsewhere-"+w.ns },
	},
	"Gateway.adoptExistingHome": {
		func(_ *world, s *v1alpha1.GatewaySpec) { s.AdoptExistingHome = true },
		func(_ *world, run engine.Workload) bool { return run.AdoptExistingHome },
	},
	"Gateway.drainTimeout": {
		func(_ *world, s *v1alpha1.GatewaySpec) { s.DrainTimeout = &metav1.Duration{Duration: 7 * time.Second} },
		func(_ *world, run engine.Workload) bool { return run.DrainTimeout == 7*time.Second },
	},
	"Gateway.process.memoryLimit": {
		func(_ *world, s *v1alpha1.GatewaySpec) {
			q := resource.MustParse("64Mi")
			s.Process = &v1alpha1.ProcessSpec{MemoryLimit: &q}
		},
		func(_ *world, run engine.Workload) bool { return run.MemoryLimit == 64<<20 },
	},
	"Gateway.process.logDir": {
		func(_ *world, s *v1alpha1.GatewaySpec) { s.Process = &v1alpha1.ProcessSpec{LogDir: "/l"} },
		func(_ *world, run engine.Workload) bool { return run.LogDir == "/l" },
	},
	"Gateway.process.env[].name":  envField,
	"Gateway.process.env[].value": envField,
}

var envField = struct {
	change func(w *world, s *v1alpha1.GatewaySpec)
	seen   func(w *world, run engine.Workload) bool
}{
	func(_ *world, s *v1alpha1.GatewaySpec) {
		s.Process = &v1alpha1.ProcessSpec{Env: []v1alpha1.ProcessEnvVar{{Name: "LANG", Value: "C"}}}
	},
	func(_ *world, run engine.Workload) bool { return slices.Equal(run.Env, []string{"LANG=C"}) },
}

func TestGatewayFieldsReachTheWorkload(t *testing.T) {
	for path, f := range workloadFields {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := gateway("gw")
			w.create(g)
			w.awaitCondition(g, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			if run, ok := suite.engine.Workload(w.ref()); !ok || f.seen(w, run) {
				t.Fatalf("the effect was there before the change: %+v", run)
			}
			w.change(g, func() { f.change(w, &g.Spec) })
			w.await("a run with the new settings", func() (bool, string) {
				run, ok := suite.engine.Workload(w.ref())
				return ok && f.seen(w, run), fmt.Sprintf("%+v", run)
			})
			w.awaitCondition(g, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
		})
	}
}
