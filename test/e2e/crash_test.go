package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// answering starts a cluster with one Ready profile on the demo, and returns the gateway that serves it.
func answering(t *testing.T) (*Cluster, *v1alpha1.Gateway) {
	t.Helper()
	c := started(t)
	c.Apply(demoYAML("one", ""))
	k, gw := c.Client(), gateway("default")
	AwaitReady(c, k, profile("one"), gw)
	return c, gw
}

// TestGatewayKilledComesBackWithBackoff: the end is seen, shown and cured, and a second one waits longer.
func TestGatewayKilledComesBackWithBackoff(t *testing.T) {
	c, gw := answering(t)
	k := c.Client()
	session, err := c.Turn("one", "", "remember me")
	if err != nil {
		t.Fatal(err)
	}
	for i, least := range []time.Duration{700 * time.Millisecond, 1500 * time.Millisecond} {
		old := gw.Status.Instance
		killed := time.Now()
		c.Kill9(int(old.PID))
		shown := AwaitObject(c, k, gw, "shows its end", func(gw *v1alpha1.Gateway) bool {
			return gw.Status.NextAttempt != nil && gw.Status.Restarts == int32(i)
		})
		if r := reasonOf(shown, v1alpha1.ConditionRunning); r != v1alpha1.ReasonCrashLoop {
			t.Errorf("after kill -9 Running says %s%s", r, describe(shown.Status.Conditions))
		}
		AwaitObject(c, k, gw, "runs again", func(gw *v1alpha1.Gateway) bool {
			return reasonOf(gw, v1alpha1.ConditionRunning) == v1alpha1.ReasonRunning && gw.Status.Instance.ID != old.ID
		})
		if took := time.Since(killed); took < least {
			t.Errorf("end %d: back after %s, want a back-off of at least %s", i+1, took, least)
		}
		if gw.Status.Restarts != int32(i+1) {
			t.Errorf("restarts %d, want %d", gw.Status.Restarts, i+1)
		}
		AwaitReady(c, k, gw, profile("one"))
		if _, err := c.Turn("one", session.Hermes.Session, "again"); err != nil {
			t.Errorf("the session of before, after end %d: %v", i+1, err)
		}
	}
}

// reasonOf is the reason of a condition, "" when it is absent.
func reasonOf(o interface{ GetGeneration() int64 }, condition string) string {
	var all []metav1.Condition
	switch o := o.(type) {
	case *v1alpha1.Gateway:
		all = o.Status.Conditions
	case *v1alpha1.Profile:
		all = o.Status.Conditions
	}
	for _, c := range all {
		if c.Type == condition {
			return c.Reason
		}
	}
	return ""
}

// TestUpKilledLeavesGatewaysServing: nobody notices, and the next hermes up takes the same process over.
func TestUpKilledLeavesGatewaysServing(t *testing.T) {
	c, before := answering(t)
	c.Kill9(c.UpPID())
	pid := int(before.Status.Instance.PID)
	if !running(pid) {
		t.Fatal("the gateway ended with hermes up")
	}
	c.Say("one", "is anybody there?")

	c.Up()
	k, after := c.Client(), gateway("default")
	AwaitReady(c, k, after, profile("one"))
	c.Apply(demoYAML("two", "")) // whoever serves now is connected to the new control plane
	AwaitReady(c, k, profile("two"))
	AwaitObject(c, k, after, "is adopted", func(gw *v1alpha1.Gateway) bool { return gw.Status.Instance != nil })
	if a, b := before.Status.Instance, after.Status.Instance; b.PID != a.PID || b.ID != a.ID || after.Status.Restarts != 0 || !running(pid) {
		t.Fatalf("not adopted: before %+v, after %+v, restarts %d", a, b, after.Status.Restarts)
	}
	c.Say("two", "hello")
}

// TestAPIServerKilledUnderWrites: what was acknowledged is there, turns go on meanwhile, and everything converges again.
func TestAPIServerKilledUnderWrites(t *testing.T) {
	c, gw := answering(t)
	k := c.Client()
	const writers, each = 8, 40
	var mu sync.Mutex
	var acknowledged []string
	var count atomic.Int64
	enough := make(chan struct{})
	var load sync.WaitGroup
	for w := range writers {
		load.Go(func() {
			for i := range each {
				name := fmt.Sprintf("load-%d-%d", w, i)
				deadline := time.Now().Add(patience)
				for time.Now().Before(deadline) {
					o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"n": name}}
					if err := k.Create(context.Background(), o); err != nil && !strings.Contains(err.Error(), "already exists") {
						continue // not acknowledged: the same write again
					}
					mu.Lock()
					acknowledged = append(acknowledged, name)
					mu.Unlock()
					if count.Add(1) == writers*each/4 {
						close(enough)
					}
					break
				}
			}
		})
	}
	<-enough
	server := c.pidOf("hermes-apiserver")
	c.Kill9(server)
	c.Say("one", "do you answer without an API server?")
	load.Wait()
	if len(acknowledged) != writers*each {
		t.Errorf("%d of %d writes were acknowledged", len(acknowledged), writers*each)
	}
	var list corev1.ConfigMapList
	await(t, "list after the restart", func() string {
		if err := k.List(context.Background(), &list); err != nil {
			return err.Error()
		}
		return ""
	})
	have := map[string]bool{}
	for _, o := range list.Items {
		have[o.Name] = o.Data["n"] == o.Name
	}
	for _, name := range acknowledged {
		if !have[name] {
			t.Errorf("ConfigMap %s was acknowledged and is lost", name)
		}
	}
	c.Apply(demoYAML("two", ""))
	after := gateway("default")
	AwaitReady(c, k, profile("one"), profile("two"), after)
	if after.Status.Instance.PID != gw.Status.Instance.PID {
		t.Error("the gateway was restarted because the API server was")
	}
	if again := c.pidOf("hermes-apiserver"); again == server {
		t.Error("the killed API server is still counted")
	}
}

// TestGatewayStartsWithoutAPIServer: a gateway that finds no API server answers for the profiles of its last run.
func TestGatewayStartsWithoutAPIServer(t *testing.T) {
	c, gw := answering(t)
	first, err := c.Turn("one", "", "remember me")
	if err != nil {
		t.Fatal(err)
	}
	pid := int(gw.Status.Instance.PID)
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	argv := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
	server := c.pidOf("hermes-apiserver")
	c.Kill9(c.UpPID())
	await(t, "end of the API server whose owner is gone", func() string {
		if running(server) {
			return "it runs"
		}
		return ""
	})
	c.Kill9(pid)

	again := c.spawn(argv[0], argv[1:]...)
	await(t, "answer without an API server", func() string {
		if _, err := c.Turn("one", first.Hermes.Session, "do you remember?"); err != nil {
			return err.Error()
		}
		return ""
	})
	again.stop()
	c.Up()
	await(t, "answer of a gateway that hermes up started again", func() string {
		if _, err := c.Turn("one", first.Hermes.Session, "all well?"); err != nil {
			return err.Error()
		}
		return ""
	})
	AwaitReady(c, c.Client(), gateway("default"), profile("one"))
}

// spawned is a process a test started by hand.
type spawned struct {
	c    *Cluster
	cmd  *exec.Cmd
	once sync.Once
	out  *os.File
}

// spawn starts a program by hand; it is stopped at the end of the test at the latest.
func (c *Cluster) spawn(path string, args ...string) *spawned {
	c.t.Helper()
	out, err := os.CreateTemp(c.Dir, "spawned")
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.environ(), c.Home, out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	s := &spawned{c: c, cmd: cmd, out: out}
	c.t.Cleanup(s.stop)
	return s
}

// stop ends the process as its terminal would.
func (s *spawned) stop() {
	s.once.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
		if s.c.t.Failed() {
			raw, _ := os.ReadFile(s.out.Name())
			s.c.t.Logf("%v:\n%s", s.cmd.Args, raw)
		}
		_ = s.out.Close()
	})
}
