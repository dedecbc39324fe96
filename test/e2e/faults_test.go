package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/test/fakemodel"
)

// withFaults makes this cluster run a hermes that is built to be broken (build tag faults), beside the real control plane.
func (c *Cluster) withFaults() {
	c.t.Helper()
	dir := filepath.Join(c.Dir, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	build := exec.Command("go", "build", "-tags", "faults", "-o", filepath.Join(dir, "hermes"), "hermes.dev/hermes/cmd/hermes")
	if out, err := build.CombinedOutput(); err != nil {
		c.t.Fatalf("build the broken hermes: %v\n%s", err, out)
	}
	if err := os.Symlink(binary(c.t, "hermes-apiserver"), filepath.Join(dir, "hermes-apiserver")); err != nil {
		c.t.Fatal(err)
	}
	c.program = filepath.Join(dir, "hermes")
}

// panicUntilClosed lets a tool of a profile panic the given number of times; each time closes the profile for twice as
// long, so that it is closed for a while afterwards.
func (c *Cluster) panicUntilClosed(m *fakemodel.Server, name string, times int) {
	call := fakemodel.Calls(fakemodel.ToolCall{ID: "1", Name: "fault_panic", Arguments: "{}"})
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for crashed := 0; crashed < times; {
		m.Respond(func(fakemodel.Request) fakemodel.Turn { return call })
		before := len(m.Requests())
		_, err := c.Turn(name, "", "break")
		if err == nil {
			c.t.Errorf("%s answers although its tool panics", name)
			return
		}
		if len(m.Requests()) > before {
			crashed++
			if !strings.Contains(err.Error(), "fault_panic has a bug") {
				c.t.Errorf("the panic is not told: %v", err)
			}
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			c.t.Errorf("%d crashes of %d, last %v", crashed, times, err)
			return
		}
	}
	m.Respond(nil)
}

// TestReleaseHasNoFaults: the binary that people run has no tool that is built to be broken.
func TestReleaseHasNoFaults(t *testing.T) {
	raw, err := os.ReadFile(binary(t, "hermes"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "fault_panic") {
		t.Error("the release binary holds the faults of the suites")
	}
}
