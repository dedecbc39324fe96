package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a running process of a Cluster.
type process struct {
	PID     int
	Cmdline string
}

// processes finds everything that runs for this cluster, by its directory in the command line or the environment.
func (c *Cluster) processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		c.t.Fatal(err)
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !running(pid) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if bytes.Contains(cmdline, []byte(c.Dir+"/")) || bytes.Contains(environ, []byte(c.Dir+"/")) {
			out = append(out, process{PID: pid, Cmdline: strings.ReplaceAll(string(cmdline), "\x00", " ")})
		}
	}
	return out
}

// pidOf finds the one process whose command line contains all the words.
func (c *Cluster) pidOf(words ...string) int {
	c.t.Helper()
	var found []int
	for _, p := range c.processes() {
		if containsAll(p.Cmdline, words) {
			found = append(found, p.PID)
		}
	}
	if len(found) != 1 {
		c.t.Fatalf("%d processes with %q in %v, want one", len(found), words, c.processes())
	}
	return found[0]
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// UpPID is the process that runs hermes up.
func (c *Cluster) UpPID() int {
	c.t.Helper()
	var owner struct{ PID int }
	raw, err := os.ReadFile(filepath.Join(c.Data, "up.lock"))
	if err == nil {
		err = json.Unmarshal(raw, &owner)
	}
	if err != nil || owner.PID < 2 {
		c.t.Fatalf("who runs hermes up? %v: %s", err, raw)
	}
	return owner.PID
}

// running is false for processes that ended, waited for or not.
func running(pid int) bool {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(raw), ") ")
	return ok && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func kill9(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// Kill9 kills a process of this cluster and waits until it is gone.
func (c *Cluster) Kill9(pid int) {
	c.t.Helper()
	kill9(pid)
	await(c.t, "end of process "+strconv.Itoa(pid), func() string {
		if running(pid) {
			return "still there"
		}
		return ""
	})
}

// cpuTicks is the processor time a process has used, in clock ticks (a hundredth of a second).
func (c *Cluster) cpuTicks(pid int) int {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		c.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	if errUser != nil || errSystem != nil {
		c.t.Fatalf("/proc/%d/stat: %s", pid, raw)
	}
	return user + system
}
