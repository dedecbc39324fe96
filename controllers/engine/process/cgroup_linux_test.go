package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// writableUnified finds a cgroup v2 directory in which groups can be made, mounted at either usual place.
func writableUnified(t *testing.T) (dir string, ok bool) {
	t.Helper()
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	path, _ := unifiedPath(string(membership))
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(mount, path, "hermes-test-"+strconv.Itoa(os.Getpid()))
		var fs unix.Statfs_t
		if unix.Statfs(filepath.Dir(dir), &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { removeCgroup(dir) })
		return dir, true
	}
	return "", false
}

// G9, G10: where a cgroup can be made the gateway is born in it, and everything in it dies with the gateway. Where none
// can be made, the same gateway runs without.
func TestRunsInItsCgroup_G9(t *testing.T) {
	w := newWorld(t)
	parent, ok := writableUnified(t)
	if !ok {
		parent = filepath.Join(w.home, "no-cgroup-here")
	}
	w.opts.CgroupParent = parent
	e := w.engine()
	load := w.workload(modeStripped)
	load.MemoryLimit = 512 << 20
	o := w.awaitRunning(e, load)
	group := w.readIntent().Seen.Run.Cgroup
	if !ok {
		if group != "" || !strings.Contains(o.Message, "is soft") {
			t.Errorf("cgroup %q, message %s", group, o.Message)
		}
		w.stop(e)
		return
	}
	grandchild := w.pidIn("grandchild")
	procs, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil || !strings.Contains(string(procs), strconv.FormatInt(o.Instance.PID, 10)) || !strings.Contains(string(procs), strconv.Itoa(grandchild)) {
		t.Errorf("cgroup holds %q, want %d and %d (%v)", procs, o.Instance.PID, grandchild, err)
	}
	w.stop(e)
	if alive(grandchild) {
		t.Error("a member of the cgroup lives")
	}
	if exists(group) {
		t.Error("the cgroup stays")
	}
}

// G10: memory.high is set, below memory.max, before memory.max. The kernel's files are stood in for by plain ones.
func TestCgroupLimits_G10(t *testing.T) {
	parent := t.TempDir()
	dir, err := makeCgroup(parent, "run", limits{Memory: 1000, CPUWeight: 50, Tasks: 7})
	if err != nil {
		t.Fatal(err)
	}
	high, max := stat(t, dir+"/memory.high"), stat(t, dir+"/memory.max")
	if read(t, dir+"/memory.high") != "900" || read(t, dir+"/memory.max") != "1000" {
		t.Errorf("high %s, max %s", read(t, dir+"/memory.high"), read(t, dir+"/memory.max"))
	}
	if read(t, dir+"/cpu.weight") != "50" || read(t, dir+"/pids.max") != "7" {
		t.Errorf("weight %s, tasks %s", read(t, dir+"/cpu.weight"), read(t, dir+"/pids.max"))
	}
	if high.ModTime().After(max.ModTime()) {
		t.Error("memory.max was set before memory.high")
	}
	if err := os.WriteFile(dir+"/memory.events", []byte("low 0\nhigh 7\nmax 3\noom 1\noom_kill 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cgroupOOMKills(dir); got != 2 {
		t.Errorf("oom kills = %d, want 2", got)
	}
	if got := cgroupOOMKills(""); got != 0 {
		t.Errorf("oom kills without a cgroup = %d", got)
	}
}

// G10: a limit is set where the controller is passed on and nowhere else, and the words say what holds.
func TestLimitsAndTheirWords_G10(t *testing.T) {
	const mem = 64 << 20
	for passed, want := range map[string]struct {
		limits limits
		words  string
	}{
		"cpu memory pids\n": {limits{mem, gatewayWeight, gatewayTasks}, "memory limit 64 MiB for the whole tree (cgroup), at most 4096 tasks, CPU weight 50"},
		"memory":            {limits{Memory: mem}, "memory limit 64 MiB for the whole tree (cgroup)"},
		"pids cpu":          {limits{CPUWeight: gatewayWeight, Tasks: gatewayTasks}, softConfinement(mem) + ", at most 4096 tasks, CPU weight 50"},
		"":                  {limits{}, softConfinement(mem)},
	} {
		parent := t.TempDir()
		if err := os.WriteFile(parent+"/cgroup.subtree_control", []byte(passed), 0o600); err != nil {
			t.Fatal(err)
		}
		l := limitsFor(parent, mem)
		if words := confinement(l, mem); l != want.limits || words != want.words {
			t.Errorf("%q: %+v, %q", passed, l, words)
		}
		dir, err := makeCgroup(parent, "run", l)
		if err != nil {
			t.Fatal(err)
		}
		for file, set := range map[string]bool{"memory.max": l.Memory > 0, "cpu.weight": l.CPUWeight > 0, "pids.max": l.Tasks > 0} {
			if exists(dir+"/"+file) != set {
				t.Errorf("%q: %s exists = %v", passed, file, !set)
			}
		}
	}
	if words := confinement(limits{}, 0); words != "" {
		t.Errorf("without any limit: %q", words)
	}
}

// G10: this process moves into a leaf before the controllers are passed on, and only those that are there are asked for.
func TestPassOn_G10(t *testing.T) {
	for there, want := range map[string]string{"cpu memory pids io\n": "+pids", "memory\n": "+memory", "io\n": "", "": ""} {
		dir := t.TempDir()
		for _, d := range []string{dir, dir + "/operator"} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(dir+"/cgroup.controllers", []byte(there), 0o600); err != nil {
			t.Fatal(err)
		}
		err := passOn(dir, 42)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "Delegate=yes") || exists(dir+"/operator/cgroup.procs") {
				t.Errorf("%q: %v", there, err)
			}
			continue
		}
		if err != nil || read(t, dir+"/operator/cgroup.procs") != "42" || read(t, dir+"/cgroup.subtree_control") != want {
			t.Errorf("%q: %v, moved %s, passed on last %s", there, err, read(t, dir+"/operator/cgroup.procs"), read(t, dir+"/cgroup.subtree_control"))
		}
	}
	// The kernel refuses while others are in the group: this process goes back to where it was.
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/cgroup.subtree_control", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/cgroup.controllers", []byte("memory"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := passOn(dir, 42); err == nil || read(t, dir+"/cgroup.procs") != "42" {
		t.Errorf("refused: %v", err)
	}
}

// G10: somebody else's group is not used, whatever may be written there.
func TestIsDelegated_G10(t *testing.T) {
	dir := t.TempDir()
	for path, events := range map[string]bool{"/": false, "/system.slice/x": true} {
		_ = os.Remove(dir + "/cgroup.events")
		if events {
			if err := os.WriteFile(dir+"/cgroup.events", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// For a person their own directory is a delegated group; root owns everything.
		if got, want := isDelegated(dir, path), os.Getuid() != 0; got != want {
			t.Errorf("%s, events %v: delegated = %v", path, events, got)
		}
	}
	if err := os.WriteFile(dir+"/cgroup.events", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !isDelegated(dir, "/") {
		t.Error("the top of a container is its own")
	}
	if isDelegated(dir+"/none", "/") {
		t.Error("a group that is not there is delegated")
	}
	if unix.Setxattr(dir, "user.delegate", []byte("1"), 0) == nil && !isDelegated(dir, "/system.slice/x") {
		t.Error("systemd's mark does not count")
	}
}

// G10: a machine without a delegated memory controller is told apart, with what to do.
func TestHasController_G10(t *testing.T) {
	dir := t.TempDir()
	if hasController(dir, "memory") {
		t.Error("a directory that is no cgroup has controllers")
	}
	for content, want := range map[string]bool{"cpu memory pids\n": true, "memory": true, "hugetlb\n": false, "": false, "memory2": false} {
		if err := os.WriteFile(dir+"/cgroup.controllers", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := hasController(dir, "memory"); got != want {
			t.Errorf("hasController(%q) = %v", content, got)
		}
	}
}

func TestUnifiedPath(t *testing.T) {
	for membership, want := range map[string]string{
		"0::/user.slice/a\n":        "/user.slice/a",
		"4:memory:/x\n0::/\n":       "/",
		"4:memory:/x\n1:name=y:/\n": "",
		"":                          "",
	} {
		if got, _ := unifiedPath(membership); got != want {
			t.Errorf("unifiedPath(%q) = %q, want %q", membership, got, want)
		}
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
