package tools

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func TestWhichRecordedProcessesAreLeftovers(t *testing.T) {
	i := ProcessInfo{PID: 7, Birth: "b/1", Owner: 6, OwnerBirth: "b/0"}
	without := func(change func(*ProcessInfo)) ProcessInfo { c := i; change(&c); return c }
	for name, c := range map[string]struct {
		info         ProcessInfo
		birth, owner string
		want         bool
	}{
		"outlived its gateway":         {i, "b/1", "", true},
		"gateway's number went on":     {i, "b/1", "b/9", true},
		"its gateway runs":             {i, "b/1", "b/0", false},
		"gone":                         {i, "", "", false},
		"its number went on":           {i, "b/2", "", false},
		"another boot":                 {i, "c/1", "", false},
		"recorded without birth":       {without(func(c *ProcessInfo) { c.Birth = "" }), "", "", false},
		"recorded without its gateway": {without(func(c *ProcessInfo) { c.OwnerBirth = "" }), "b/1", "", false},
	} {
		if got := c.info.leftover(c.birth, c.owner); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestG9LeftoversEndWithTheNextGateway: a process that cleared its environment and outlived its gateway is ended by its
// record; one whose record names another birth is not touched.
func TestG9LeftoversEndWithTheNextGateway(t *testing.T) {
	start := func() (*exec.Cmd, chan struct{}) {
		cmd := exec.Command("env", "-i", "sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
		return cmd, ended
	}
	mine, ended := start()
	other, running := start()
	path := filepath.Join(t.TempDir(), ProcessesFile)
	record := func(id string, pid int, birth string) ProcessInfo {
		return ProcessInfo{ID: id, Session: "s", State: ProcessRunning, PID: pid, Birth: birth, Owner: os.Getpid(), OwnerBirth: "an earlier boot/1"}
	}
	raw, err := json.Marshal(processesFile{Version: 1, Processes: []ProcessInfo{
		record("p-mine", mine.Process.Pid, birthOf(mine.Process.Pid)), record("p-other", other.Process.Pid, birthOf(other.Process.Pid)+"0"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	p := NewProcesses(ProcessOptions{Path: path, RunID: "next", Clock: clock.RealClock{}})
	p.EndLeftovers()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it still runs")
	}
	select {
	case <-running:
		t.Error("a process of another birth was ended")
	default:
	}
	for _, i := range p.List("s") {
		if i.State != ProcessLost {
			t.Errorf("%+v", i)
		}
	}
}

// TestBirthIsRecorded: what a background command starts as is in the file before anybody can be killed.
func TestBirthIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), ProcessesFile)
	p := NewProcesses(ProcessOptions{Path: path, RunID: "r", Clock: clock.RealClock{}})
	s := newTestSet(t, func(c *Config) { c.Processes = p })
	id := launch(t, s, "sleep 600")
	var file processesFile
	if err := json.Unmarshal([]byte(readBack(t, path)), &file); err != nil || len(file.Processes) != 1 {
		t.Fatalf("%+v, %v", file, err)
	}
	i := file.Processes[0]
	if i.Birth == "" || i.Birth != birthOf(i.PID) || i.Owner != os.Getpid() || i.OwnerBirth != birthOf(os.Getpid()) {
		t.Errorf("%+v", i)
	}
	must(t, s, processManage, manage(id, "kill"))
}
