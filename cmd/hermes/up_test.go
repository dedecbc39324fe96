package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/host"
)

func (m *machine) owner() datadir.Owner {
	m.t.Helper()
	owner, ok := datadir.Dir(m.data).Serving()
	if !ok {
		m.t.Fatal("hermes up does not serve")
	}
	return owner
}

// kill ends a process the hard way and waits until it is gone.
func (m *machine) kill(pid int) {
	m.t.Helper()
	p := host.ProcessID{PID: pid, StartTime: host.Observe(pid).StartTime}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(m.t.Context(), 5*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return host.ProcessLiveness(p) == host.Dead, nil
	})
	if err != nil {
		m.t.Fatalf("pid %d survives SIGKILL: %v", pid, err)
	}
}

func allReady(r result) bool { return r.code == 0 && strings.Contains(r.stdout, "ready") }

// The life of hermes up: start, second start, work, crash of each part, adoption, stop.
func TestUpAndDown(t *testing.T) {
	m := newMachine(t)
	r := m.must("up", "--demo", "--detach", "--wait", "--timeout", "90s")
	if err := contains(r, "control plane   https://127.0.0.1:", "all 2 ready", "hermes --data "+m.data+" down"); err != nil {
		t.Fatal(err)
	}
	address := m.owner().Address

	t.Run("a second one names the first", func(t *testing.T) {
		r := m.run("up")
		if err := contains(r, "hermes up already runs for "+m.data, "pid "+strconv.Itoa(m.owner().PID), "hermes --data "+m.data+" down"); err != nil || r.code != 75 {
			t.Errorf("exit %d: %v", r.code, err)
		}
		r = m.run("up", "--detach")
		if err := contains(r, "already runs for"); err != nil || r.code != 75 {
			t.Errorf("in the background: exit %d: %v", r.code, err)
		}
	})
	t.Run("verbs", func(t *testing.T) { verbs(t, m) })
	t.Run("the control plane is restarted at its address", func(t *testing.T) {
		pid := apiserverPID(t, m)
		m.kill(pid)
		m.await(allReady, "status")
		if now := apiserverPID(t, m); now == pid || m.owner().Address != address {
			t.Errorf("pid %d after %d, address %s after %s", now, pid, m.owner().Address, address)
		}
	})
	t.Run("a killed hermes up is replaced without stopping a gateway", func(t *testing.T) {
		gateway := m.field("gateway/default", ".status.instance.pid")
		m.kill(m.owner().PID)
		if r := m.run("status"); r.code != 1 || contains(r, "start it with hermes --data "+m.data+" up") != nil {
			t.Errorf("nothing runs: %s", r)
		}
		m.must("up", "--detach", "--wait", "--timeout", "90s")
		if now := m.field("gateway/default", ".status.instance.pid"); now != gateway {
			t.Errorf("gateway is pid %s, want %s adopted", now, gateway)
		}
		if m.owner().Address != address {
			t.Errorf("address %s, want %s as before", m.owner().Address, address)
		}
	})
	t.Run("down --keep-gateways keeps them", func(t *testing.T) {
		gateway := gatewayPID(t, m)
		if r := m.must("down", "--keep-gateways"); contains(r, "its gateways keep running", "hermes --data "+m.data+" down stops them") != nil || strings.Contains(r.stdout, "nothing runs") {
			t.Error(r)
		}
		if host.Observe(gateway).State != host.Alive {
			t.Fatalf("gateway pid %d is gone", gateway)
		}
		if r := m.must("chat", "-p", "demo", "-q", "hello"); contains(r, "does not answer; gateway default does") != nil || strings.TrimSpace(r.stdout) == "" {
			t.Errorf("chat without a control plane: %s", r)
		}
		// Now nothing but the gateway is left, and down alone finds and stops it.
		r := m.must("down")
		if host.Observe(gateway).State == host.Alive {
			t.Errorf("gateway pid %d still runs after %s", gateway, r)
		}
		m.must("down")
	})
	t.Run("down after kill -9", func(t *testing.T) {
		m.must("up", "--detach", "--wait", "--timeout", "90s")
		gateway := gatewayPID(t, m)
		m.kill(m.owner().PID)
		m.must("down")
		if host.Observe(gateway).State == host.Alive {
			t.Errorf("gateway pid %d still runs", gateway)
		}
	})
	t.Run("down stops everything", func(t *testing.T) {
		m.must("up", "--detach", "--wait", "--timeout", "90s")
		gateway, up, api := gatewayPID(t, m), m.owner().PID, apiserverPID(t, m)
		m.must("down")
		for name, pid := range map[string]int{"gateway": gateway, "up": up, "apiserver": api} {
			if host.Observe(pid).State == host.Alive {
				t.Errorf("%s pid %d still runs", name, pid)
			}
		}
		for _, left := range []string{"up.json", "shutdown-gateways"} {
			if _, err := os.Stat(filepath.Join(m.data, left)); err == nil {
				t.Errorf("%s is left", left)
			}
		}
	})
}

func gatewayPID(t *testing.T, m *machine) int {
	t.Helper()
	pid, err := strconv.Atoi(m.field("gateway/default", ".status.instance.pid"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func apiserverPID(t *testing.T, m *machine) int {
	t.Helper()
	raw, err := os.ReadFile(datadir.Dir(m.data).ControlPlane().Lock())
	if err != nil {
		t.Fatal(err)
	}
	var owner struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(raw, &owner); err != nil || owner.PID < 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	return owner.PID
}

// verbs are those that need a running control plane.
func verbs(t *testing.T, m *machine) {
	manifest := "apiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: work}\nspec:\n  model:\n    name: m\n" +
		"    credentials: [{secretKeyRef: {name: anthropic, key: API_KEY}}]\n---\nkind: [\n"
	r := m.input(manifest, "apply", "-f", "-")
	if err := contains(r, "profile.hermes.dev/work created", "-:9 (document 2): line 9"); err != nil || r.code != 1 {
		t.Errorf("exit %d: %v", r.code, err)
	}
	m.await(func(r result) bool { return contains(r, "SecretNotFound") == nil }, "status")
	r = m.run("status", "profile/work")
	if err := contains(r, "ReferencesResolved", `Secret "anthropic" does not exist`, "kubectl create secret generic anthropic --from-literal=API_KEY=…"); err != nil || r.code != 1 {
		t.Errorf("exit %d: %v", r.code, err)
	}
	var d statusview.Document
	r = m.run("status", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || d.Total != 3 || d.NeedAttention != 1 || d.Objects[0].Name != "work" || d.ControlPlane.Kind != "local" {
		t.Errorf("%v: %+v: %s", err, d, r)
	}
	if r := m.must("get", "profile", "work", "-o", "name"); strings.TrimSpace(r.stdout) != "profile.hermes.dev/work" {
		t.Error(r)
	}
	var list struct {
		Kind  string           `json:"kind"`
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal([]byte(m.must("get", "hprof", "-o", "json").stdout), &list); err != nil || list.Kind != "List" || len(list.Items) != 2 {
		t.Errorf("list = %s of %d, %v", list.Kind, len(list.Items), err)
	}
	if err := contains(m.must("explain", "gateway.spec.drainTimeout"), "DrainTimeout is how long"); err != nil {
		t.Error(err)
	}
	if r := m.run("get", "profile", "nobody"); r.code != 1 || contains(r, `"nobody" not found`) != nil {
		t.Error(r)
	}
	if err := contains(m.must("delete", "profile", "work"), "deleted"); err != nil {
		t.Error(err)
	}
	if r := m.run("status", "profile/work"); r.code != 1 || contains(r, `profile "work" does not exist`) != nil {
		t.Error(r)
	}
	if err := contains(m.must("doctor"), "control plane", "answers"); err != nil {
		t.Error(err)
	}
	if raw := m.must("kubeconfig", "--raw").stdout; !strings.Contains(raw, "current-context") {
		t.Errorf("kubeconfig --raw = %s", raw)
	}
	if path := strings.TrimSpace(m.must("kubeconfig").stdout); path != datadir.Dir(m.data).ControlPlane().Kubeconfig() {
		t.Errorf("kubeconfig = %s", path)
	}
}

func TestUpRefusesWhatCannotWork(t *testing.T) {
	m := newMachine(t)
	if r := m.run("up", "--address", "0.0.0.0:1"); r.code != 78 || contains(r, "not a loopback address") != nil {
		t.Error(r)
	}
	// In the background the code and the words are the same.
	if r := m.run("up", "--detach", "--address", "0.0.0.0:1"); r.code != 78 || contains(r, "not a loopback address") != nil {
		t.Error(r)
	}
	file := filepath.Join(m.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := m.run("up", "--data", file); r.code != 78 || contains(r, "not a directory") != nil {
		t.Error(r)
	}
}

func TestUpManifests(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(m.home, "agents")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: alice}\nspec: {model: {provider: demo}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.must("up", "--detach", "--manifests", dir)
	m.await(func(r result) bool { return allReady(r) && strings.Contains(r.stdout, "alice") }, "status")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.await(func(r result) bool { return r.code == 1 }, "get", "profile", "alice")
	// The default Gateway is nobody's manifest: it stays, and a changed one is not overwritten by a restart.
	r := m.input("apiVersion: hermes.dev/v1alpha1\nkind: Gateway\nmetadata: {name: default}\nspec: {drainTimeout: 7s}\n", "apply", "-f", "-")
	if err := contains(r, "gateway.hermes.dev/default configured"); err != nil || r.code != 0 {
		t.Error(err, r)
	}
	m.must("down")
	m.must("up", "--detach")
	if got := m.field("gateway/default", ".spec.drainTimeout"); got != "7s" {
		t.Errorf("drainTimeout = %q, want 7s as it was set", got)
	}
}
