package statusfeed

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/test/controlplane"
)

func TestMain(m *testing.M) {
	// The log rotation of the control plane keeps one goroutine for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}

// server answers every list with nothing once all five are being asked for, and records the requests.
func server(t *testing.T, together int) (rest.Interface, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	all := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.URL.RequestURI())
		if len(seen) == together {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		kind := map[string]string{"profiles": "ProfileList", "gateways": "GatewayList", "relayidentities": "RelayIdentityList", "metricsconsents": "MetricsConsentList", "schedules": "ScheduleList"}
		path := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "hermes.dev/v1alpha1", "kind": kind[path], "items": []any{}})
	}))
	t.Cleanup(s.Close)
	client, err := kube.HermesClient(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() []string {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(seen)
		return seen
	}
}

// One request a kind, all at the same time (no answer comes before the last one is asked), and nothing else:
// no discovery.
func TestListAsksForAllKindsAtOnce(t *testing.T) {
	client, seen := server(t, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := List(ctx, client, Query{Namespace: "team"}); err != nil {
		t.Fatal(err)
	}
	const base = "/apis/hermes.dev/v1alpha1/namespaces/team/"
	want := []string{base + "gateways", base + "metricsconsents", base + "profiles", base + "relayidentities", base + "schedules"}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
}

func TestListOfOneObjectAsksForItAlone(t *testing.T) {
	client, seen := server(t, 1)
	if _, err := List(t.Context(), client, Query{Namespace: "team", Kind: "Profile", Name: "alice"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"/apis/hermes.dev/v1alpha1/namespaces/team/profiles?fieldSelector=metadata.name%3Dalice"}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
}

func TestWatchTellsOfChanges(t *testing.T) {
	env := controlplane.StartEnv(t)
	client, err := kube.HermesClient(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(suspended bool) error {
		raw, err := json.Marshal(map[string]any{"apiVersion": "hermes.dev/v1alpha1", "kind": "Profile",
			"metadata": map[string]any{"name": "alice"},
			"spec":     map[string]any{"model": map[string]any{"provider": "demo"}, "suspended": suspended}})
		if err != nil {
			return err
		}
		return client.Patch(types.ApplyPatchType).Namespace("default").Resource("profiles").Name("alice").
			VersionedParams(&metav1.PatchOptions{FieldManager: "test", Force: ptr.To(true)}, metav1.ParameterCodec).Body(raw).Do(t.Context()).Error()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	step, failed := 0, error(nil)
	err = Watch(ctx, client, Query{}, func(s statusview.Snapshot) bool {
		switch {
		case step == 0 && len(s.Profiles) == 0:
			step, failed = 1, apply(false)
		case step == 1 && len(s.Profiles) == 1:
			step, failed = 2, apply(true)
		case step == 2 && len(s.Profiles) == 1 && s.Profiles[0].Spec.Suspended:
			step = 3
			failed = client.Delete().Namespace("default").Resource("profiles").Name("alice").Do(t.Context()).Error()
		case step == 3 && len(s.Profiles) == 0:
			step = 4
		}
		return step < 4 && failed == nil
	})
	if err := errors.Join(err, failed); err != nil || step != 4 {
		t.Errorf("step %d, %v", step, err)
	}
	if err := Watch(ctx, client, Query{}, func(statusview.Snapshot) bool { cancel(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("a watch that is cancelled returns %v", err)
	}
}

// Memory is shown for the recorded run only, never for a process that has its pid by now.
func TestResidentsProvesWhoItIs(t *testing.T) {
	pid := os.Getpid()
	started := metav1.Unix(int64(host.Observe(pid).CreateTime), 0)
	g := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "g"}}
	measure := func(i *v1alpha1.GatewayInstance) int64 {
		g.Status.Instance = i
		return Residents([]v1alpha1.Gateway{g})["n/g"]
	}
	if got := measure(&v1alpha1.GatewayInstance{PID: int64(pid), StartedAt: &started}); got < 1<<20 {
		t.Errorf("resident = %d bytes, want this process's", got)
	}
	long := metav1.NewTime(started.Add(-time.Hour))
	for name, i := range map[string]*v1alpha1.GatewayInstance{
		"another start": {PID: int64(pid), StartedAt: &long}, "no start": {PID: int64(pid)}, "no pid": {StartedAt: &started}, "no instance": nil,
	} {
		if got := measure(i); got != 0 {
			t.Errorf("%s: resident = %d, want nothing", name, got)
		}
	}
}
