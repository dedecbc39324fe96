package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/session"
)

// Source is how sessions that begin here are marked.
const Source = "cli"

// errInterrupt is Ctrl-C. A Lines returns it for one on an empty line.
var errInterrupt = errors.New("interrupted")

// Lines reads what a person types.
type Lines interface {
	// Read returns one line of conversation; more says that the text goes on in the next one. io.EOF ends the
	// conversation, errInterrupt is Ctrl-C.
	Read(ctx context.Context, prompt string) (line string, more bool, err error)
	// Ask returns the answer to a question; it is not remembered.
	Ask(ctx context.Context, prompt string) (string, error)
}

// Chat is a conversation with one profile.
type Chat struct {
	Client *localapi.Client
	Target Target
	// Out gets replies, Notes everything else.
	Out, Notes io.Writer
	// Live says that a person reads Out as it is written; Color that Notes may be coloured.
	Live, Color bool
	// Width is how many columns a live reply has, asked once a turn; nil, or 0, breaks no lines.
	Width func() int
	// Lines asks a person; nil when there is none.
	Lines Lines
	// NewDisplay makes what shows a turn of a session, instead of Out and Notes; Decide asks a person about a call, instead of
	// Lines, and returns "" when the turn ends first; Inquire puts a question of the agent, and ok is false then; Pick lets a person choose among sessions, "" is none of them. They are nil
	// where there are only lines.
	NewDisplay func(session string) Display
	Decide     func(context.Context, Question) (decision string)
	Inquire    func(context.Context, Inquiry) (line string, ok bool)
	Pick       func(context.Context, []localapi.SessionInfo) (id string, err error)
	// Choose begins the conversation with the choice of a session.
	Choose bool
	// Yes allows each call that needs approval, once.
	Yes bool
	// Interrupts carries Ctrl-C: the first of a turn interrupts it, the second ends the program.
	Interrupts <-chan os.Signal
	Clock      clock.PassiveClock

	// Session is the session in use; "" before the first turn.
	Session string
	// interrupt interrupts the turn that runs.
	interrupt func()
	following *follower // of turns that nobody here began
	// leave says that Ctrl-C was pressed twice in one turn.
	leave bool
	// model is what answered last, "" before the first answer.
	model string
}

// Answer is what a turn came to, the object of -o json.
type Answer struct {
	Session    string          `json:"session"`
	Reply      string          `json:"reply"`
	Usage      *localapi.Usage `json:"usage"`
	ModelCalls int             `json:"model_calls"`
	ToolCalls  int             `json:"tool_calls"`
	// PendingSteer is what was said to the turn and found no place in it.
	PendingSteer string `json:"pending_steer,omitempty"`
	// Error is why there is no reply, null when there is one.
	Error *localapi.Error `json:"error"`
}

// Once runs one turn: text, or with resume what the session has not finished. The returned error has been shown to
// nobody yet. The answer is filled in also after an error.
func (c *Chat) Once(ctx context.Context, text string, resume bool) (Answer, error) {
	if err := c.begin(); err != nil {
		return Answer{}, err
	}
	r := c.display()
	final, err := c.turn(ctx, r, text, resume)
	r.End(final.Reply, err)
	a := Answer{Session: c.Session, Usage: final.Usage}
	if final.Info != nil {
		c.model = final.Info.Model
		a.ModelCalls, a.ToolCalls, a.PendingSteer = final.Info.ModelCalls, final.Info.ToolCalls, final.Info.PendingSteer
	}
	if err == nil {
		a.Reply = final.Reply
		return a, nil
	}
	a.Error = c.stated(err)
	return a, c.explain(a.Error)
}

// display is what shows the next turn.
func (c *Chat) display() Display {
	if c.NewDisplay != nil {
		return c.NewDisplay(c.Session)
	}
	r := &renderer{out: c.Out, notes: c.Notes, live: c.Live, color: c.Color}
	if c.Live && c.Width != nil {
		r.wrap = newWrapper(c.Width())
	}
	return r
}

// begin chooses the id of a new session here, so that a turn can be interrupted before its first answer.
func (c *Chat) begin() error {
	if c.Session != "" {
		return nil
	}
	id, err := session.NewID(c.Clock.Now(), rand.Reader)
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	c.Session = id
	return nil
}

// stated gives an error its API form.
func (c *Chat) stated(err error) *localapi.Error {
	var e *localapi.Error
	switch {
	case errors.Is(err, errInterrupt), errors.As(err, &e) && e.Code == "interrupted":
		return &localapi.Error{Type: "interrupted", Code: "interrupted", Message: "the turn was interrupted; what was stored stays", Err: err}
	case e != nil:
		return e
	}
	return &localapi.Error{Type: "server_error", Code: "failed", Message: err.Error(), Err: err}
}

// explain words an error for a person.
func (c *Chat) explain(e *localapi.Error) error {
	switch e.Code {
	case "interrupted":
		return fmt.Errorf("interrupted; what was stored stays: hermes chat -p %s --session %s continues, with --resume it finishes that turn", c.Target.Profile, c.Session)
	case "session_busy", "stopping", "store_busy":
		return exit.Busyf("%s", visible(e.Message))
	case "credential_missing", "credential_refused":
		return fmt.Errorf("%s: see hermes status profile/%s", visible(e.Message), c.Target.Profile)
	}
	return errors.New(visible(e.Message))
}

// Find settles the session to go on with: the named one, which must exist, or the newest that began here.
func (c *Chat) Find(ctx context.Context, id string, latest bool) error {
	switch {
	case id != "":
		s, err := c.Client.Session(ctx, c.Target.Profile, id)
		if err != nil {
			return err
		}
		c.Session = s.ID
	case latest:
		list, err := c.Client.Sessions(ctx, c.Target.Profile, localapi.SessionFilter{Source: Source, Limit: 1})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("profile %s has no session to continue: begin one without --continue", c.Target.Profile)
		}
		c.Session = list[0].ID
	}
	return nil
}
