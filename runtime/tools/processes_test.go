//go:build linux

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// launch starts a background command in session s1 and returns its id.
func launch(t testing.TB, s *Set, command string) string {
	t.Helper()
	got := must(t, s, "terminal", map[string]any{"command": command, "background": true})
	id := regexp.MustCompile(`p-[a-z2-7]{8}`).FindString(got)
	if id == "" {
		t.Fatalf("terminal = %q", got)
	}
	return id
}

func manage(id, action string, more ...any) map[string]any {
	args := map[string]any{"action": action, "id": id}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

func TestBackgroundProcess(t *testing.T) {
	s := newTestSet(t, nil)
	id := launch(t, s, "echo ready; while read x; do echo got $x; done; echo end >&2; exit 3")
	must(t, s, processManage, manage(id, "write", "input", "one\ntwo\n"))
	must(t, s, processManage, manage(id, "write", "close_input", true))
	got := must(t, s, processManage, manage(id, "wait"))
	want := "ready\ngot one\ngot two\nend\n[bytes 0 to 26 of 26; exit code 3]"
	if got != want {
		t.Errorf("wait = %q, want %q", got, want)
	}
	if got := must(t, s, processManage, manage(id, "read")); got != "[bytes 26 to 26 of 26; exit code 3]" {
		t.Errorf("a second read = %q", got)
	}
	if got := must(t, s, processManage, manage(id, "read", "offset", 6)); !strings.HasPrefix(got, "got one\n") {
		t.Errorf("read from 6 = %q", got)
	}
	refused(t, s, processManage, manage(id, "write", "input", "x"), "does not run: exit code 3")
	refused(t, s, processManage, manage("p-nothing", "read"), "no process")
	refused(t, s, processManage, map[string]any{"action": "read"}, "needs the id")
	if got := must(t, s, processManage, map[string]any{"action": "list"}); !strings.Contains(got, id+"  exit code 3") {
		t.Errorf("list = %q", got)
	}
}

// A process belongs to the session that started it, and outlives the turn and the Set when it is the profile's.
func TestBackgroundProcessOwnership(t *testing.T) {
	dir := t.TempDir()
	var ended []ProcessInfo
	all := NewProcesses(ProcessOptions{Path: filepath.Join(dir, ProcessesFile), RunID: "run-1", Clock: clock.RealClock{}, Ended: func(i ProcessInfo) { ended = append(ended, i) }})
	s := newTestSet(t, func(c *Config) { c.Processes = all })
	ctx, turnEnds := context.WithCancel(t.Context())
	r := s.Run(ctx, "s1", call("terminal", map[string]any{"command": "sleep 1000", "background": true}), nil)
	if r.IsError {
		t.Fatal(r.Content)
	}
	turnEnds()
	id := all.List("s1")[0].ID
	for _, action := range []string{"read", "wait", "kill"} {
		if r := s.Run(t.Context(), "s2", call(processManage, manage(id, action)), nil); !r.IsError || !strings.Contains(r.Content, "no process") {
			t.Errorf("%s by another session = %+v", action, r)
		}
	}
	if r := s.Run(t.Context(), "s2", call(processManage, map[string]any{"action": "list"}), nil); strings.Contains(r.Content, id) {
		t.Errorf("another session lists it: %s", r.Content)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	info := all.List("")[0]
	if info.State != ProcessRunning || !alive(info.PID) {
		t.Errorf("after the turn and the set: %+v", info)
	}
	if err := all.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(info.PID) || len(ended) != 1 || ended[0].State != ProcessKilled || ended[0].ID != id {
		t.Errorf("after the profile: alive %v, ended %+v", alive(info.PID), ended)
	}
	if _, err := all.start("s1", command{line: "true"}, nil); err == nil {
		t.Error("a closed profile starts processes")
	}
}

func alive(pid int) bool {
	p, err := readProcess(pid)
	return err == nil && p.state != 'Z' && p.state != 'X'
}

func TestBackgroundKillEndsTheTree(t *testing.T) {
	s := newTestSet(t, nil)
	id := launch(t, s, "(setsid sleep 1000 & echo $! ) ; sleep 1000")
	var child int
	for child == 0 {
		got := must(t, s, processManage, manage(id, "read", "offset", 0))
		_, _ = fmt.Sscan(got, &child)
	}
	got := must(t, s, processManage, manage(id, "kill"))
	if !strings.Contains(got, "killed: it and everything it started was ended") || alive(child) {
		t.Errorf("kill = %q, child alive: %v", got, alive(child))
	}
}

// What ran when a gateway stopped is lost, and nothing is done to whoever has its number now.
func TestBackgroundProcessesAreLostHonestly(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ProcessesFile)
	us := os.Getpid()
	raw, _ := json.Marshal(processesFile{Version: 1, Processes: []ProcessInfo{
		{ID: "p-running", Session: "s1", Command: "serve", State: ProcessRunning, PID: us, RunID: "run-0"},
		{ID: "p-begun", Session: "s1", Command: "serve", State: ProcessStarting, RunID: "run-0"},
		{ID: "p-done", Session: "s1", Command: "make", State: ProcessExited, ExitCode: 2, RunID: "run-0"},
	}})
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newTestSet(t, func(c *Config) { c.Home, c.Workspace = home, home+"/workspace" })
	got := must(t, s, processManage, map[string]any{"action": "list"})
	for _, want := range []string{"p-running  lost: the gateway stopped while it ran", "p-begun  lost", "p-done  exit code 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("list = %q, want %q", got, want)
		}
	}
	if got := must(t, s, processManage, manage("p-running", "kill")); !strings.Contains(got, "lost") {
		t.Errorf("kill of a lost one = %q", got)
	}
	refused(t, s, processManage, manage("p-running", "write", "input", "x"), "does not run")
	launch(t, s, "true")
	var file processesFile
	if err := json.Unmarshal([]byte(readBack(t, path)), &file); err != nil || len(file.Processes) != 4 || file.Processes[0].State != ProcessLost {
		t.Errorf("the record = %+v, %v", file, err)
	}
	if modeOf(t, path) != 0o600 {
		t.Errorf("mode %o", modeOf(t, path))
	}
}

// The record is there before the process is: a start that cannot be recorded does not happen.
func TestBackgroundProcessIsRecordedFirst(t *testing.T) {
	dir := t.TempDir()
	all := NewProcesses(ProcessOptions{Path: filepath.Join(dir, "none", ProcessesFile), Clock: clock.RealClock{}})
	defer all.Close(t.Context()) //nolint:errcheck // nothing runs
	marker := filepath.Join(dir, "ran")
	if _, err := all.start("s1", command{line: "touch " + marker, dir: dir}, newProcessLog(nil)); err == nil || !strings.Contains(err.Error(), "was not started") {
		t.Errorf("start = %v", err)
	}
	if _, err := os.Stat(marker); err == nil || len(all.List("")) != 0 {
		t.Error("it ran, or is listed")
	}
}

func TestBackgroundProcessesAreBounded(t *testing.T) {
	s := newTestSet(t, nil)
	for range maxRunning {
		launch(t, s, "sleep 1000")
	}
	refused(t, s, "terminal", map[string]any{"command": "true", "background": true}, "is the most")
	for _, i := range s.processes.List("s1")[1:] {
		must(t, s, processManage, manage(i.ID, "kill"))
	}
	for range maxKept + 3 {
		must(t, s, processManage, manage(launch(t, s, "true"), "wait"))
	}
	list := s.processes.List("")
	if len(list) != maxKept || list[0].State != ProcessRunning {
		t.Errorf("%d kept, the first %s", len(list), list[0].State)
	}
}

func TestBackgroundApproval(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.Mode = ModeAsk })
	p := &person{answer: DecisionOnce}
	s.Run(t.Context(), "s1", call("terminal", map[string]any{"command": "sh", "background": true}), p.approve)
	id := s.processes.List("s1")[0].ID
	for _, action := range []string{"read", "kill"} {
		defer s.Run(t.Context(), "s1", call(processManage, manage(id, action)), nil)
	}
	s.Run(t.Context(), "s1", call(processManage, manage(id, "write", "input", "rm -rf /\n")), func(context.Context, ApprovalRequest) (Decision, error) { return DecisionDeny, nil })
	p.answer = DecisionDeny
	s.Run(t.Context(), "s1", call(processManage, manage(id, "write", "input", "rm -rf /\n")), p.approve)
	s.Run(t.Context(), "s1", call(processManage, manage(id, "write", "input", "true\n")), p.approve)
	if len(p.asked) != 3 || !strings.HasPrefix(p.asked[0].Summary, "run in the background") || !strings.HasPrefix(p.asked[1].Reason, "dangerous") || p.asked[1].Command != "rm -rf /\n" || p.asked[2].Covers != ApprovalPerCommand {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestProcessLog(t *testing.T) {
	dir := t.TempDir()
	for _, spills := range []bool{true, false} {
		l := newProcessLog(func() (*os.File, error) {
			if !spills {
				return nil, os.ErrPermission
			}
			return os.Create(filepath.Join(dir, "spill"))
		})
		var all bytes.Buffer
		for i := 0; all.Len() < 5*logRing; i++ {
			chunk := bytes.Repeat([]byte{byte('a' + i%26)}, 1+i*37%9000)
			if i == 40 {
				chunk = bytes.Repeat([]byte("x"), 3*logRing)
			}
			all.Write(chunk)
			if _, err := l.Write(chunk); err != nil {
				t.Fatal(err)
			}
			if len(l.ring) > 2*logRing {
				t.Fatalf("%d bytes in memory", len(l.ring))
			}
			tail, from, total := l.read(int64(all.Len())-int64(min(logRing, all.Len())), logRing)
			if total != int64(all.Len()) || !bytes.Equal(tail, all.Bytes()[from:]) {
				t.Fatalf("after %d bytes: the last %d differ", all.Len(), len(tail))
			}
		}
		for _, at := range []int64{0, 1, 1000, logRing, 2 * logRing, int64(all.Len()) - 1, int64(all.Len()), int64(all.Len()) + 10} {
			got, from, _ := l.read(at, 100)
			if spills && from != min(at, int64(all.Len())) {
				t.Errorf("read at %d begins at %d", at, from)
			}
			if !bytes.Equal(got, all.Bytes()[from:min(int(from)+100, all.Len())]) {
				t.Errorf("spilling %v, read at %d = %q", spills, at, got)
			}
		}
		l.close()
	}
}

// What a background process has started is not taken for something that hid from another call.
func TestG9BackgroundProcessesAreKept(t *testing.T) {
	o := collector(t)
	s := newTestSet(t, func(c *Config) { c.Orphans = o })
	pidFile := filepath.Join(t.TempDir(), "pid")
	id := launch(t, s, "export P="+pidFile+"; (setsid sh -c 'echo $$ > $P; exec sleep 1000' &) ; sleep 1000")
	child := awaitPid(t, pidFile)
	must(t, s, "terminal", sh("true"))
	if !alive(child) {
		t.Error("a call has ended what a background process started")
	}
	must(t, s, processManage, manage(id, "kill"))
	if alive(child) {
		t.Error("it outlives the background process")
	}
}
