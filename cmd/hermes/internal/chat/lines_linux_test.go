package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is a pseudo terminal: keys go in at one end, the program has the other.
type terminal struct {
	t       *testing.T
	keys    *os.File // the person's end
	program *os.File
	mu      sync.Mutex
	seen    string
	news    chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	must(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	x := &terminal{t: t, keys: keys, program: program, news: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := keys.Read(buf)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.seen += string(buf[:n])
			x.mu.Unlock()
			select {
			case x.news <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = program.Close() // ends the reads of the other end
		<-done
		_ = keys.Close()
	})
	return x
}

// until waits until the program has shown a text, and forgets what came before its end.
func (x *terminal) until(text string) {
	x.t.Helper()
	waiting := ctx(x.t)
	for {
		x.mu.Lock()
		_, after, found := strings.Cut(x.seen, text)
		if found {
			x.seen = after
		}
		seen := x.seen
		x.mu.Unlock()
		if found {
			return
		}
		select {
		case <-x.news:
		case <-waiting.Done():
			x.t.Fatalf("the terminal does not show %q but %q", text, seen)
		}
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	_, err := io.WriteString(x.keys, keys)
	must(x.t, err)
}

// TestTerminalLines: editing, history, continued and pasted lines, Ctrl-C and Ctrl-D, and the terminal as it was after
// each of them.
func TestTerminalLines(t *testing.T) {
	x := newTerminal(t)
	before, err := term.GetState(int(x.program.Fd()))
	must(t, err)
	l := NewTerminalLines(x.program, x.program)
	for _, c := range []struct {
		name, keys string
		ask        bool
		line       string
		more       bool
		err        error
	}{
		{"a line", "hello\r", false, "hello", false, nil},
		{"editing", "helo\x1b[Dl\r", false, "hello", false, nil},
		{"history", "\x1b[A\r", false, "hello", false, nil},
		{"continued", "one\\\r", false, "one", true, nil},
		{"an answer", "o\r", true, "o", false, nil},
		{"history without the answer", "\x1b[A\r", false, "one", true, nil},
		{"pasted", "\x1b[200~first\r\x1b[201~", false, "first", true, nil},
		{"the rest of it", "\r", false, "", false, nil},
		{"Ctrl-C", "half\x03", false, "", false, errInterrupt},
		{"after it", "whole\r", false, "whole", false, nil},
		{"Ctrl-C at a question", "\x03", true, "", false, errInterrupt},
		{"Ctrl-D", "\x04", false, "", false, io.EOF},
	} {
		type result struct {
			line string
			more bool
			err  error
		}
		got := make(chan result, 1)
		go func() {
			var r result
			if c.ask {
				r.line, r.err = l.Ask(ctx(t), "P> ")
			} else {
				r.line, r.more, r.err = l.Read(ctx(t), "P> ")
			}
			got <- r
		}()
		x.until("P> ")
		x.press(c.keys)
		if r := <-got; r.line != c.line || r.more != c.more || !errors.Is(r.err, c.err) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if after, err := term.GetState(int(x.program.Fd())); err != nil || fmt.Sprint(*after) != fmt.Sprint(*before) {
			t.Errorf("%s: the terminal was left changed: %v", c.name, err)
		}
	}
	// Typed before the question, in the terminal's queue and in the editor's: not its answer.
	x.press("first\ra\ra\r")
	x.until("a\r\na\r\n") // echoed, and so queued
	if line, _, err := l.Read(ctx(t), "P> "); line != "first" || err != nil {
		t.Errorf("typed ahead: %q, %v", line, err)
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := l.Ask(ctx(t), "Q> ")
		answer <- line
	}()
	x.until("Q> ")
	x.press("d\r")
	if line := <-answer; line != "d" {
		t.Errorf("%q, typed before the question, answered it", line)
	}
	ending, end := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() {
		_, _, err := l.Read(ending, "P> ")
		got <- err
	}()
	x.until("P> ")
	end()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if after, err := term.GetState(int(x.program.Fd())); err != nil || fmt.Sprint(*after) != fmt.Sprint(*before) {
		t.Errorf("the end of the program left the terminal changed: %v", err)
	}
	x.press("\r") // lets the read that was left behind end
}
