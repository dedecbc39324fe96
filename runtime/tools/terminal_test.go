//go:build linux

package tools

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestTerminalResults(t *testing.T) {
	s := newTestSet(t, nil)
	tests := []struct{ command, want string }{
		{"echo out", "out\n[exit code 0]"},
		{"printf out", "out\n[exit code 0]"},
		{"true", "[exit code 0]"},
		{"exit 7", "[exit code 7]"},
		{"no-such-program-here", "/bin/sh: 1: no-such-program-here: not found\n[exit code 127]"},
		{"kill -TERM $$", "[ended by signal: terminated]"},
		{"for i in 1 2 3; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2\no3\ne3\n[exit code 0]"},
		{"read x; echo \"got <$x>\"", "got <>\n[exit code 0]"},
		{"(exec 3<>/dev/tty) 2>/dev/null && echo has a terminal || echo no terminal", "no terminal\n[exit code 0]"},
		{"printf 'a\\377b\\000\\000c'", "a\uFFFDb\uFFFDc\n[exit code 0]"},
		{"[ $$ = $(cut -d' ' -f6 /proc/$$/stat) ] && echo leads its session", "leads its session\n[exit code 0]"},
		{"pwd", s.sandbox.roots[0] + "\n[exit code 0]"},
	}
	for _, tt := range tests {
		if got := must(t, s, "terminal", sh(tt.command)); got != tt.want && !strings.Contains(tt.command, "no-such") {
			t.Errorf("%q = %q, want %q", tt.command, got, tt.want)
		} else if !strings.HasSuffix(got, tt.want[strings.LastIndex(tt.want, "["):]) {
			t.Errorf("%q = %q", tt.command, got)
		}
	}
}

// Implements the test of G-346: nothing of this process's environment is in a child's.
func TestTerminalEnvironmentIsBuilt(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-hostile")
	t.Setenv("PATH", "/hostile/bin:"+os.Getenv("PATH"))
	t.Setenv("HERMES_HOME", "/hostile/home")
	t.Setenv("LD_PRELOAD_HOSTILE", "x")
	s := newTestSet(t, func(c *Config) {
		c.Environ = []string{"GREETING=hello world", "LANG=de_DE.UTF-8", "GREETING=last wins"}
	})
	got := must(t, s, "terminal", sh("tr '\\0' '\\n' < /proc/self/environ"))
	got = regexp.MustCompile(`HERMES_CALL_ID=[A-Z2-7]{26}\n`).ReplaceAllString(got, "HERMES_CALL_ID=*\n")
	home := s.sandbox.home
	want := strings.Join([]string{"PATH=" + defaultPath, "HOME=" + home + "/home", "HERMES_HOME=" + home, "PWD=" + s.sandbox.roots[0], "LANG=de_DE.UTF-8",
		"TERM=dumb", "SHELL=/bin/sh", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GREETING=last wins", "HERMES_RUN_ID=run-1", "HERMES_CALL_ID=*", "[exit code 0]"}, "\n")
	if sortLines(got) != sortLines(want) {
		t.Errorf("environment:\n%s\nwant:\n%s", got, want)
	}
	if info, err := os.Stat(home + "/home"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("HOME of commands: %v, %v", info, err)
	}
}

func sortLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		for j := i + 1; j < len(lines); j++ {
			if lines[j] < lines[i] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Open files of this process are not inherited.
func TestTerminalInheritsNoDescriptors(t *testing.T) {
	s := newTestSet(t, nil)
	f, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := must(t, s, "terminal", sh("ls -l /proc/$$/fd")); strings.Contains(got, f.Name()) {
		t.Errorf("descriptors of the shell:\n%s", got)
	}
}

// trees are ways to leave the shell behind. Each writes its pid to $P and
// stays for a long time.
var trees = map[string]string{
	"child":                    `sleep 1000 & echo $! > $P; wait`,
	"ignores TERM":             `sh -c 'trap "" TERM HUP INT; echo $$ > $P; while :; do sleep 1000; done'`,
	"grandchild":               `sh -c 'sh -c "echo \$\$ > $P; sleep 1000; true"; true'; true`,
	"own session":              `setsid sh -c 'echo $$ > $P; sleep 1000; true' & wait`,
	"daemon":                   `setsid sh -c 'setsid sh -c "echo \$\$ > $P; exec sleep 1000" >/dev/null 2>&1 </dev/null &'; sleep 1000`,
	"daemon, empty environ":    `env -i P=$P PATH=$PATH setsid sh -c 'setsid sh -c "echo \$\$ > $P; exec sleep 1000" &' ; sleep 1000`,
	"child of a silent daemon": `setsid sh -c 'setsid sh -c "env -i P=$P PATH=$PATH sh -c \"echo \\\$\\\$ > \\\$P; exec sleep 1000\"; true" >/dev/null 2>&1 </dev/null &'; sleep 1000`,
}

// awaitPid waits until the tree has written its pid.
func awaitPid(t testing.TB, path string) int {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		raw, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && bytes.HasSuffix(raw, []byte("\n")) {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("no pid in %s: %q", path, raw)
		}
		runtime.Gosched()
	}
}

// gone reports that pid does not run any more. A zombie has ended; it is for
// its parent to collect, which must not be us.
func gone(pid int) error {
	p, err := readProcess(pid)
	if err == nil && p.state != 'Z' && p.state != 'X' {
		return fmt.Errorf("process %d still runs in state %c", pid, p.state)
	}
	if err == nil && p.parent == os.Getpid() {
		return fmt.Errorf("process %d is our zombie", pid)
	}
	return nil
}

// start runs a command and returns when it has written a pid.
func start(t testing.TB, ctx context.Context, s *Set, command string) (pid int, result chan Result) {
	t.Helper()
	pidFile := filepath.Join(t.TempDir(), "pid")
	result = make(chan Result, 1)
	go func() { result <- s.Run(ctx, "s1", call("terminal", sh("P="+pidFile+"; export P; "+command)), nil) }()
	return awaitPid(t, pidFile), result
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	for name, command := range trees {
		t.Run(name, func(t *testing.T) {
			s := newTestSet(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			pid, result := start(t, ctx, s, command)
			if gone(pid) == nil {
				t.Fatalf("process %d does not run", pid)
			}
			cancel()
			r := <-result
			if !r.IsError || !strings.Contains(r.Content, "[cancelled;") {
				t.Errorf("result = %+v", r)
			}
			if err := gone(pid); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCloseEndsTheWholeTreeAndRefusesCalls(t *testing.T) {
	s := newTestSet(t, nil)
	pid, result := start(t, t.Context(), s, trees["daemon"])
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gone(pid); err != nil {
		t.Error(err)
	}
	if r := <-result; !r.IsError {
		t.Errorf("result = %+v", r)
	}
	refused(t, s, "terminal", sh("true"), "shutting down")
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	s := newTestSet(t, nil)
	release := make(chan struct{})
	entered := make(chan struct{})
	err := s.Register(Tool{Definition: Definition{Name: "stuck", Parameters: object(nil)}, Toolset: "file", Handler: func(context.Context, Call) (Result, error) {
		close(entered)
		<-release
		return Result{}, nil
	}}, false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Run(context.Background(), "s", call("stuck", nil), nil) }()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 tool calls still running") {
		t.Errorf("Close = %v", err)
	}
	close(release)
	<-done
}

func TestBackgroundProcessesEndWithTheCall(t *testing.T) {
	s := newTestSet(t, nil)
	pidFile := filepath.Join(t.TempDir(), "pid")
	// The shell returns once the daemon has written its pid.
	got := must(t, s, "terminal", sh("export P="+pidFile+"; setsid sh -c 'echo $$ > $P; exec sleep 1000' & while ! [ -s $P ]; do :; done; echo done"))
	if got != "done\n[exit code 0]\n[1 background processes were ended]" {
		t.Errorf("result = %q", got)
	}
	if err := gone(awaitPid(t, pidFile)); err != nil {
		t.Error(err)
	}
}

func TestTimeoutEndsTheCommand(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))
	for name, tt := range map[string]struct {
		args  string
		after time.Duration
	}{"default": {"", 120 * time.Second}, "asked": {`,"timeout_seconds":3600`, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			s := newTestSet(t, func(c *Config) { c.Clock = clk })
			pidFile := filepath.Join(t.TempDir(), "pid")
			result := make(chan Result, 1)
			c := Call{Name: "terminal", Arguments: []byte(fmt.Sprintf(`{"command":"echo begun; echo $$ > %s; sleep 1000"%s}`, pidFile, tt.args))}
			go func() { result <- s.Run(t.Context(), "s", c, nil) }()
			pid := awaitPid(t, pidFile)
			for !clk.HasWaiters() {
				runtime.Gosched()
			}
			clk.Step(tt.after - time.Second)
			select {
			case r := <-result:
				t.Fatalf("ended early: %+v", r)
			default:
			}
			clk.Step(time.Second)
			r := <-result
			if !r.IsError || r.Content != fmt.Sprintf("begun\n[timed out after %s; the command and everything it started was ended]", tt.after) {
				t.Errorf("result = %+v", r)
			}
			if err := gone(pid); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLongOutputIsSpilled(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.OutputLimit = 1000 })
	got := must(t, s, "terminal", sh("seq 1 100000"))
	name := regexp.MustCompile(`complete output: (\S+)`).FindStringSubmatch(got)
	if name == nil || !strings.HasPrefix(got, "1\n2\n3\n") || !strings.HasSuffix(got, "\n99999\n100000\n[exit code 0]") || len(got) > 1300 {
		t.Fatalf("%d bytes: %q", len(got), got)
	}
	var want strings.Builder
	for i := 1; i <= 100000; i++ {
		fmt.Fprintln(&want, i)
	}
	if readBack(t, name[1]) != want.String() {
		t.Error("the spilled output is not the complete output")
	}
	if info, err := os.Stat(name[1]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("spill file: %v, %v", info, err)
	}
	if !strings.HasPrefix(name[1], filepath.Join(s.sandbox.home, "cache", "tool-output")+"/") {
		t.Errorf("spilled to %s", name[1])
	}
	if got := must(t, s, "terminal", sh("head -c 1000 /dev/zero | tr '\\0' x")); strings.Contains(got, "left out") {
		t.Errorf("exactly the limit was cut: %q", got)
	}
}

func TestCallsRunBesideEachOther(t *testing.T) {
	s := newTestSet(t, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := s.Run(t.Context(), fmt.Sprint("s", i%3), call("terminal", sh(fmt.Sprintf("sleep 0.05 & echo %d; wait", i))), nil)
			if want := fmt.Sprintf("%d\n[exit code 0]", i); r.IsError || r.Content != want {
				t.Errorf("result = %+v, want %q", r, want)
			}
			s.Definitions()
		})
	}
	wg.Wait()
}

func TestTerminalCannotStart(t *testing.T) {
	s := newTestSet(t, nil)
	if err := os.Remove(s.sandbox.roots[0]); err != nil {
		t.Fatal(err)
	}
	refused(t, s, "terminal", sh("true"), "cannot start the command")
	refused(t, s, "terminal", map[string]any{"command": "a\x00b"}, "NUL")
}

func TestParseStat(t *testing.T) {
	const tail = " S 10 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9"
	for _, name := range []string{"(sh)", "(a b)", "(evil) R 1 1 1 )", "()"} {
		p, err := parseStat(9, "9 "+name+tail)
		if want := (process{pid: 9, parent: 10, group: 11, session: 12, state: 'S', start: 4242}); err != nil || p != want {
			t.Errorf("%s: %+v, %v, want %+v", name, p, err, want)
		}
	}
	for _, bad := range []string{"", "9 (sh) S 1 2", "9 (sh) S x 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9"} {
		if _, err := parseStat(9, bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func BenchmarkTerminal(b *testing.B) {
	s := newTestSet(b, nil)
	for b.Loop() {
		must(b, s, "terminal", sh("true"))
	}
}
