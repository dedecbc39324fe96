package process

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/host"
)

// publishOwner writes the record of a gateway that was started by hand, for a living process that the test owns.
func publishOwner(t *testing.T, dir, home string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	seen := host.Observe(cmd.Process.Pid)
	data, err := json.Marshal(host.Record{
		Role: host.RoleGateway, Home: home, PID: cmd.Process.Pid, ProtocolVersion: host.RecordProtocolVersion,
		CreateTime: &seen.CreateTime, StartTime: seen.StartTime, BootID: seen.BootID, UpdatedAt: time.Now().UTC().Format(time.RFC3339),
	})
	if err := errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "host-gateway.json"), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// G2, G-255: a gateway that a person started under a named profile serves the whole root, and is reported, not doubled.
func TestGatewayByHandIsRespected_G2(t *testing.T) {
	w := newWorld(t)
	w.opts.HostLocks = filepath.Join(t.TempDir(), "locks")
	w.opts.PingInterval = 20 * time.Millisecond
	owner := publishOwner(t, w.opts.HostLocks, filepath.Join(w.home, "profiles", "coder"))
	e := w.engine()
	load := w.workload()
	o := w.awaitReason(e, load, v1alpha1.ReasonHostOwnedElsewhere)
	if o.Running || o.Stalled || !strings.Contains(o.Message, "not managed by this operator") {
		t.Errorf("observation: %+v", o)
	}
	if w.notes("started") != 0 {
		t.Fatal("a second gateway was started")
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()
	w.awaitRunning(e, load)
	w.stop(e)
}

// One that serves another root is nobody's concern.
func TestGatewayByHandOfAnotherRoot_G2(t *testing.T) {
	w := newWorld(t)
	w.opts.HostLocks = filepath.Join(t.TempDir(), "locks")
	publishOwner(t, w.opts.HostLocks, t.TempDir())
	e := w.engine()
	w.awaitRunning(e, w.workload())
	w.stop(e)
}
