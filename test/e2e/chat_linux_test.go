package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/terminal"
)

// talk is hermes chat on a terminal of its own.
type talk struct {
	*terminal.Terminal
	t      *testing.T
	cmd    *exec.Cmd
	before string
	ended  chan error
}

// talk starts hermes chat with the profile one and waits until it takes keys.
func (c *Cluster) talk(t *testing.T, environ []string, args ...string) *talk {
	t.Helper()
	x := &talk{Terminal: terminal.New(t, 80, 24), t: t, ended: make(chan error, 1)}
	x.before = x.Settings()
	x.cmd = exec.Command(binary(t, "hermes"), append([]string{"chat", "-p", "one"}, args...)...)
	x.cmd.Env = append(append(c.environ(), "TERM=xterm-256color", "LANG=C.UTF-8"), environ...)
	x.cmd.Dir = c.Home
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.Program, x.Program, x.Program
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { x.ended <- x.cmd.Wait() }()
	t.Cleanup(func() { _ = x.cmd.Process.Kill() })
	x.Until("bracketed paste", func() bool { return strings.Contains(x.Raw(), "\x1b[?2004h") })
	x.Await("›")
	return x
}

// say types a message and waits for a text that only its answer has.
func (x *talk) say(text, answer string) {
	x.t.Helper()
	x.Press(text + "\r")
	x.Await(answer)
	x.idle()
}

// idle waits until the turn is over and the input is all that is left.
func (x *talk) idle() {
	x.t.Helper()
	x.Until("the prompt", func() bool {
		lines := strings.Split(x.Text(), "\n")
		return lines[len(lines)-1] == "›"
	})
}

// end waits for the end, checks that the terminal is as it was, and returns the exit code.
func (x *talk) end() int {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("hermes chat does not end; the terminal shows\n%s", x.Text())
	}
	x.Drain()
	if wrong := x.CheckRestored(x.before); wrong != nil {
		x.t.Errorf("the terminal was left changed: %v", wrong)
	}
	return x.cmd.ProcessState.ExitCode()
}

// TestChatOnATerminal is a person at a terminal, from the first message to the gateway's death in the middle of a reply.
func TestChatOnATerminal(t *testing.T) {
	c := started(t)
	m := model(t)
	c.Apply(profileYAML("one", m.URL(), ""))
	AwaitReady(c, c.Client(), profile("one"))
	stalls := fakemodel.Turn{Text: strings.Repeat("Words that come before it. ", 200), Fault: fakemodel.Fault{StallAfter: 4000}}
	history := filepath.Join(c.Data, "history", "default", "one.jsonl")

	t.Run("talks, asks and interrupts", func(t *testing.T) {
		x := c.talk(t, nil)
		m.Script(fakemodel.Text("# Plan\n\n- one\n- two\n\n```go\nx := 1\n```\n\nDone &#27;[2J."))
		x.say("hello", "Done ^[[2J.")
		if text := x.Text(); !strings.Contains(text, "› hello\n\n# Plan\n\n• one\n• two\n\n  x := 1\n\nDone ^[[2J.\n") {
			t.Errorf("the reply is not whole:\n%s", text)
		}
		m.Script(fakemodel.Calls(fakemodel.ToolCall{ID: "1", Name: "terminal", Arguments: `{"command":"printf ran # \u001b[2J"}`}), fakemodel.Text("It ran."))
		x.Press("run it\r")
		x.Await("[o]nce")
		if text := x.Text(); !strings.Contains(text, "? one wants to run terminal") || !strings.Contains(text, "    printf ran # ^[[2J\n") {
			t.Errorf("the question is not whole:\n%s", text)
		}
		x.Press("o")
		x.Await("It ran.")
		x.idle()
		if text := x.Text(); !strings.Contains(text, "→ once") || !strings.Contains(text, "✓ terminal in ") {
			t.Errorf("the tool is not told of:\n%s", text)
		}
		m.Script(stalls)
		x.Press("go on\r")
		x.Await("Words that come before it.")
		x.Press("\x03")
		x.Await("interrupted; what was stored stays")
		x.say("/title Trip to Japan", "this session is called Trip to Japan")
		x.say("first \x1b\rsecond", "you said: first")
		x.Press("/quit\r")
		if code := x.end(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if info, err := os.Stat(history); err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(readFile(t, history), "\"hello\"\n") {
			t.Errorf("history: %v %v", info, err)
		}
	})
	t.Run("goes on with a session", func(t *testing.T) {
		x := c.talk(t, nil, "--continue")
		x.Await("going on with session")
		x.idle()
		x.Press("/new\r")
		x.Await("a new session begins")
		x.say("of cats", "you said: of cats")
		x.Press("\x04")
		x.end()

		x = c.talk(t, nil, "--resume")
		x.Await("2 of 2")
		x.Press("japan")
		x.Await("1 of 2")
		x.Press("\r")
		x.Await("going on with session")
		x.say("and more", "you said: and more")
		if requests := m.Requests(); !strings.Contains(string(requests[len(requests)-1].Parsed.Decoded()[1].Content), "hello") {
			t.Error("the chosen session did not go on")
		}
		x.Press("\x1b[A") // history of this and of earlier conversations
		x.Await("› and more")
		x.Press("\x03\x03\x03")
		x.end()
	})
	t.Run("is told to end in a turn", func(t *testing.T) {
		x := c.talk(t, nil)
		m.Script(stalls)
		x.Press("hello\r")
		x.Await("Words that come before it.")
		if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := x.end(); code != 1 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("lines where nothing can be drawn", func(t *testing.T) {
		for _, environ := range [][]string{{"TERM=dumb"}, {"TERM="}} {
			x := &talk{Terminal: terminal.New(t, 80, 24), t: t, ended: make(chan error, 1)}
			x.before = x.Settings()
			x.cmd = exec.Command(binary(t, "hermes"), "chat", "-p", "one")
			x.cmd.Env = append(append(c.environ(), "LANG=C.UTF-8"), environ...)
			x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.Program, x.Program, x.Program
			x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := x.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() { x.ended <- x.cmd.Wait() }()
			x.Await("Talking with one.")
			x.Press("/quit\r")
			if code := x.end(); code != 0 || strings.Contains(x.Raw(), "\x1b[>") {
				t.Errorf("%v: exit code %d, wrote %q", environ, code, x.Raw())
			}
		}
	})
	t.Run("the gateway dies", func(t *testing.T) {
		x := c.talk(t, []string{"NO_COLOR=1"})
		m.Script(stalls)
		x.Press("hello\r")
		x.Await("Words that come before it.")
		c.Kill9(c.pidOf("gateway", "run"))
		x.Await("! the connection to the gateway of profile one broke off")
		x.idle()
		x.Press("/quit\r")
		if code := x.end(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		for _, color := range []string{"\x1b[2m", "\x1b[33m", "\x1b[36m"} {
			if strings.Contains(x.Raw(), color) {
				t.Errorf("NO_COLOR was set, and it wrote %q", color)
			}
		}
	})
}
