package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
)

// window is how long a settled system is watched.
const window = 20 * time.Second

// TestSettledSystemWritesNothing: with everything Ready, and with something that waits for a person, the API sees no
// write and the processor next to nothing.
func TestSettledSystemWritesNothing(t *testing.T) {
	c := started(t)
	k := c.Client()
	manifests := []string{keyedYAML("waiting", "http://127.0.0.1:9/v1", "nowhere", "KEY", "")}
	for i := range 10 {
		manifests = append(manifests, demoYAML(fmt.Sprintf("p%d", i), "  homeFiles: {memories/a.md: {content: a}}\n"))
	}
	c.Apply(manifests...)
	for i := range 10 {
		AwaitReady(c, k, profile(fmt.Sprintf("p%d", i)))
	}
	AwaitCondition(c, k, profile("waiting"), v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound)
	AwaitReady(c, k, gateway("default"))
	AwaitObject(c, k, gateway("default"), "reports its profiles", func(gw *v1alpha1.Gateway) bool {
		return gw.Status.ServedProfiles != nil && *gw.Status.ServedProfiles == 11
	})

	cfg := c.Config()
	before := quietFrom(t, cfg)
	watched := map[string]int{"operator": c.UpPID(), "gateway": c.pidOf("gateway run")}
	ticks := map[string]int{}
	for name, pid := range watched {
		ticks[name] = c.cpuTicks(pid)
	}
	<-time.After(window) // what is measured is a length of time
	for name, pid := range watched {
		used := float64(c.cpuTicks(pid)-ticks[name]) / 100 / window.Seconds()
		t.Logf("%s used %.2f %% of a core", name, used*100)
		if used > 0.02 {
			t.Errorf("a settled %s uses %.1f %% of a core", name, used*100)
		}
	}
	for series, now := range writes(t, cfg) {
		if now != before[series] {
			t.Errorf("%d writes in %s: %s", now-before[series], window, series)
		}
	}
}

// quietFrom waits until two looks a second apart see no write, and returns the counters.
func quietFrom(t *testing.T, cfg *rest.Config) map[string]int {
	t.Helper()
	last := writes(t, cfg)
	at := time.Now()
	await(t, "end of writes", func() string {
		if time.Since(at) < time.Second {
			return "looking"
		}
		now := writes(t, cfg)
		same := fmt.Sprint(now) == fmt.Sprint(last)
		last, at = now, time.Now()
		if !same {
			return fmt.Sprint("still writing: ", now)
		}
		return ""
	})
	return last
}

var request = regexp.MustCompile(`(?m)^apiserver_request_total\{(.*)\} ([0-9.e+]+)$`)

// writes are the API server's counters of requests that are not reads.
func writes(t *testing.T, cfg *rest.Config) map[string]int {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, m := range request.FindAllStringSubmatch(string(raw), -1) {
		if strings.Contains(m[1], `verb="GET"`) || strings.Contains(m[1], `verb="LIST"`) || strings.Contains(m[1], `verb="WATCH"`) {
			continue
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		out[m[1]] = int(n)
	}
	if len(out) == 0 {
		t.Fatalf("no counters of writes in /metrics:\n%.500s", raw)
	}
	return out
}
