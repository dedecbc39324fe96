package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/runtime/localapi"
)

// Options of Run.
type Options struct {
	// In and Out are the terminal.
	In  io.Reader
	Out io.Writer
	// Environment is what the terminal says of itself, such as TERM=xterm.
	Environment []string
	// Color allows colours; ASCII forbids other characters in what is not text.
	Color, ASCII bool
	// History is the file that remembers what was said; "" is none.
	History string
	// Interrupts carries SIGINT, which Ctrl-C is not while the terminal is ours.
	Interrupts <-chan os.Signal
	Clock      clock.PassiveClock
	// IdleEvery is how often an idle session is looked at for what others said in it; 0 is every five seconds.
	IdleEvery time.Duration
}

// Run talks until the person leaves or ctx ends. It fills in how c shows, reads and asks; Once of it may not be called
// meanwhile. An error says that the terminal could not be used, or what ended the conversation.
func Run(ctx context.Context, c *chat.Chat, o Options) error {
	return run(ctx, c, o, c.Loop)
}

// run is Run with the conversation as a function.
func run(ctx context.Context, c *chat.Chat, o Options, loop func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupts := make(chan os.Signal, 1)
	b := &bridge{said: make(chan input, 1), session: func() string { return c.Session }}
	c.Lines, c.Notes, c.NewDisplay, c.Decide, c.Inquire, c.Pick = b, b, b.display, b.decide, b.inquire, b.pick
	c.Interrupts = interrupts

	ended := make(chan struct{})
	var begun atomic.Bool // also by its end: a program that ends at once may never begin the conversation
	m := newModel(o, c.Target.Profile)
	m.said, m.interrupts, m.api = b.said, interrupts, sessions{c.Client, c.Target.Profile}
	m.ctx = ctx
	m.start = func() tea.Msg {
		if !begun.CompareAndSwap(false, true) {
			return nil
		}
		defer close(ended)
		return loopEnded{loop(ctx)}
	}
	profile := colorprofile.ANSI
	if !o.Color {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(framesOf(o.Out, func(msg tea.Msg) { b.send(msg) })), tea.WithEnvironment(o.Environment),
		tea.WithColorProfile(profile), tea.WithoutSignalHandler())
	b.send = p.Send
	_, err := p.Run()
	cancel()
	if !begun.CompareAndSwap(false, true) {
		<-ended
	}
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("hermes chat broke: %w", err)
	case err != nil:
		return fmt.Errorf("use the terminal: %w", err)
	}
	return m.err
}

// sessions is what the screen itself asks of the gateway.
type sessions struct {
	client  *localapi.Client
	profile string
}

func (s sessions) steer(ctx context.Context, session, text string) (bool, error) {
	return s.client.Steer(ctx, s.profile, session, text)
}

func (s sessions) head(ctx context.Context, session string) (localapi.SessionInfo, error) {
	return s.client.SessionHead(ctx, s.profile, session)
}

func (s sessions) whole(ctx context.Context, session string) (localapi.SessionDetail, error) {
	return s.client.Session(ctx, s.profile, session)
}
