package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/chat/markdown"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/terminal"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// After a panic the library does not wait for its reader; the process ends then.
		goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.(*Program).readLoop"),
		goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents.func1"))
}

// program is a screen on a pseudo terminal, with a conversation that the test plays.
type program struct {
	*terminal.Terminal
	t      *testing.T
	before string
	stop   context.CancelFunc
	ended  chan error
}

func start(t *testing.T, width, height int, loop func(context.Context, *chat.Chat) error) *program {
	t.Helper()
	x := terminal.New(t, width, height)
	p := &program{Terminal: x, t: t, before: x.Settings(), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	c := &chat.Chat{Target: chat.Target{Profile: "alice"}, Clock: clock.RealClock{}}
	o := Options{In: x.Program, Out: x.Program, Environment: []string{"TERM=xterm-256color"}, Color: true, Clock: clock.RealClock{}}
	go func() { p.ended <- run(ctx, c, o, func(ctx context.Context) error { return loop(ctx, c) }) }()
	t.Cleanup(stop)
	// What is typed before would be the terminal's to edit.
	p.Until("the first frame", func() bool { return strings.Contains(p.Raw(), string(pasteMode)) })
	return p
}

// end waits for the end and checks that the terminal is as it was.
func (p *program) end() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		p.Drain()
		if wrong := p.CheckRestored(p.before); wrong != nil {
			p.t.Errorf("the terminal was left changed: %v", wrong)
		}
		return err
	case <-time.After(20 * time.Second):
		p.t.Fatalf("it does not end; the terminal shows\n%s", p.Text())
		return nil
	}
}

// echo answers each message with itself, until the end of input.
func echo(ctx context.Context, c *chat.Chat) error {
	for {
		text, _, err := c.Lines.Read(ctx, "")
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		stream(c, "You said **"+text+"**.", 3)
	}
}

// stream is a turn whose reply comes in pieces.
func stream(c *chat.Chat, text string, size int) {
	d := c.NewDisplay("session")
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		d.Handle(localapi.StreamItem{Text: rest[:n]})
		rest = rest[n:]
	}
	d.End(text, nil)
}

// TestTalk: what was said and answered stays in the terminal, which is as it was after each way to leave.
func TestTalk(t *testing.T) {
	for name, keys := range map[string]string{"/quit": "/quit\r", "Ctrl-D": "\x04", "twice Ctrl-C": "\x03\x03"} {
		t.Run(name, func(t *testing.T) {
			loop := func(ctx context.Context, c *chat.Chat) error {
				for {
					text, _, err := c.Lines.Read(ctx, "")
					if errors.Is(err, io.EOF) || text == "/quit" {
						return nil
					}
					if err != nil {
						return err
					}
					stream(c, "You said **"+text+"**.", 3)
				}
			}
			p := start(t, 60, 20, loop)
			p.Press("hello 漢字\r")
			p.Await("You said hello 漢字.")
			p.Press(keys)
			if err := p.end(); err != nil {
				t.Error(err)
			}
			if text := p.Text(); !strings.HasPrefix(text, "› hello 漢字\n\nYou said hello 漢字.") || strings.Contains(text, "Ctrl-C interrupts") {
				t.Errorf("left on the terminal:\n%s", text)
			}
		})
	}
}

// TestTerminalIsRestored after ways to end that nobody chose.
func TestTerminalIsRestored(t *testing.T) {
	t.Run("told to end", func(t *testing.T) {
		p := start(t, 60, 20, echo)
		p.Press("x\r")
		p.Await("You said x.")
		p.stop()
		if err := p.end(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("in a turn", func(t *testing.T) {
		p := start(t, 60, 20, func(ctx context.Context, c *chat.Chat) error {
			c.NewDisplay("session").Handle(localapi.StreamItem{Text: "half a sen"})
			<-ctx.Done()
			return ctx.Err()
		})
		p.Await("half a sen")
		p.stop()
		if err := p.end(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("a panic of the conversation", func(t *testing.T) {
		stderr := os.Stderr
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		os.Stderr = null // the library prints the stack
		defer func() { os.Stderr = stderr; _ = null.Close() }()
		p := start(t, 60, 20, func(ctx context.Context, c *chat.Chat) error {
			c.NewDisplay("session").Handle(localapi.StreamItem{Text: "half a sen"})
			if _, _, err := c.Lines.Read(ctx, ""); err == nil {
				panic("injected")
			}
			return nil
		})
		p.Await("half a sen")
		p.Press("x\r")
		if err := p.end(); err == nil || !strings.Contains(err.Error(), "hermes chat broke") {
			t.Error(err)
		}
	})
}

// TestScreenIsTheWhole: whatever a reply holds and however it comes, what is in the scrollback and on the screen at the end
// is the reply laid out at once, in order and complete.
func TestScreenIsTheWhole(t *testing.T) {
	pieces := []string{
		"Some words that are long enough to be broken somewhere.\n", "漢字かな混じり文 and more\n", "\n", "\n", "# Title\n", "- item\n", "- another\n\n",
		"```go\nfunc main() {}\n\n// more\n```\n", "1. one\n2. two\n", "> quoted\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "&#27;[2J\x1b[2J\n", "`code` **bold** 🙂\n",
		strings.Repeat("a long line of one paragraph ", 30) + "\n",
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for range 5 + r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		source, width, height := b.String(), 20+r.IntN(60), 5+r.IntN(30)
		p := start(t, width, height, func(_ context.Context, c *chat.Chat) error {
			d := c.NewDisplay("session")
			for rest := source; rest != ""; {
				n := min(1+r.IntN(200), len(rest))
				d.Handle(localapi.StreamItem{Text: rest[:n]})
				rest = rest[n:]
			}
			d.End(source, nil)
			return nil
		})
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		lines := markdown.Lines(source, width-1, markdown.Theme{})
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		want := strings.Join(lines, "\n")
		if got := p.Text(); got != want {
			t.Fatalf("seed %d, %d×%d: the terminal shows\n%s\nwant\n%s", seed, width, height, got, want)
		}
	}
}

// TestResize: the screen goes on at any size, down to one that hardly holds the input.
func TestResize(t *testing.T) {
	p := start(t, 80, 24, echo)
	for i, size := range [][2]int{{40, 10}, {12, 4}, {20, 3}, {100, 40}} {
		written := len(p.Raw())
		p.Resize(size[0], size[1])
		if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil { // it is not this process's own terminal
			t.Fatal(err)
		}
		p.Until("the frame of the new size", func() bool { return len(p.Raw()) > written })
		text := fmt.Sprintf("m%d", i)
		p.Press(text + "\r")
		p.Until(text, func() bool { return strings.Contains(strings.ReplaceAll(p.Text(), "\n", " "), text+".") })
	}
	p.Press("\x04")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}
