package screen

import (
	"context"
	"io"
	"os"
	"reflect"
	"time"

	"charm.land/bubbles/v2/spinner"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/localapi"
)

// api is what the screen itself asks of the gateway, beside the conversation.
type api interface {
	steer(ctx context.Context, session, text string) (bool, error)
	head(ctx context.Context, session string) (localapi.SessionInfo, error)
	whole(ctx context.Context, session string) (localapi.SessionDetail, error)
}

// model is the whole state of the screen.
type model struct {
	ctx        context.Context
	profile    string
	look       look
	clock      clock.PassiveClock
	api        api
	said       chan<- input
	interrupts chan<- os.Signal
	signals    <-chan os.Signal
	start      tea.Cmd

	width, height int
	session       string
	input         textarea.Model
	history       *history
	print         printer
	spin          spinner.Model
	turn          *turn // nil between turns
	queue         []string
	waiting       bool // the conversation waits for the person
	question      *question
	picker        *picker
	idle          idle
	leaving       bool // Ctrl-C was pressed at an empty input
	quitting      bool
	ended         bool // the conversation is over
	answered      bool // the terminal has had the time to say what it can do
	err           error
}

func newModel(o Options, profile string) *model {
	if o.IdleEvery == 0 {
		o.IdleEvery = 5 * time.Second
	}
	m := &model{
		ctx: context.Background(), profile: profile, look: newLook(o.Color, o.ASCII), clock: o.Clock, signals: o.Interrupts,
		width: 80, height: 24, history: openHistory(o.History), idle: idle{every: o.IdleEvery},
	}
	m.input = newInput(m.look)
	frames := spinner.MiniDot
	if o.ASCII {
		frames = spinner.Line
	}
	m.spin = spinner.New(spinner.WithSpinner(frames))
	m.resize(m.width, m.height)
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.start, m.input.Focus(), m.nextSignal())
}

// answers is how long a terminal has to answer what it was asked at the beginning. A program that ends before leaves the
// answer to the shell, which shows it.
const answers = 200 * time.Millisecond

// answered: that time is over.
type answered struct{}

// signalled is a SIGINT from outside.
type signalled struct{}

func (m *model) nextSignal() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-m.signals:
			return signalled{}
		case <-m.ctx.Done():
			return nil
		}
	}
}

// printed is the type of the message by which the program prints lines.
var printed = reflect.TypeOf(tea.Println("x")())

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	next := m.print.next(m.width, m.room())
	if m.ended && m.answered && m.print.empty() {
		return m, tea.Quit
	}
	return m, tea.Batch(cmd, next)
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	if reflect.TypeOf(msg) == printed {
		m.print.done()
		return nil
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.key(msg)
	case framed:
		m.print.ready = true
		return tea.Tick(answers, func(time.Time) tea.Msg { return answered{} })
	case answered:
		m.answered = true
	case signalled:
		return tea.Batch(m.interrupt(), m.nextSignal())
	case ready:
		return m.isReady(msg)
	case noted:
		m.note(msg.line)
	case turnBegan, turnItem, turnEnded, spinner.TickMsg:
		return m.turnMessage(msg)
	case asked, inquired, gone, armed:
		return m.questionMessage(msg)
	case picking:
		m.picker = newPicker(msg, m.look)
	case steered:
		m.steered(msg)
	case idleTick, looked:
		return m.idleMessage(msg)
	case loopEnded:
		m.ended, m.err = true, msg.err
	default:
		return m.edit(msg)
	}
	return nil
}

// isReady takes what is next: the end, what was typed meanwhile, or the person.
func (m *model) isReady(msg ready) tea.Cmd {
	m.endTurn(turnEnded{})
	m.waiting, m.session = true, msg.session
	switch {
	case m.quitting:
		m.leave()
		return nil
	case len(m.queue) > 0:
		text := m.queue[0]
		m.queue = m.queue[1:]
		m.say(text)
		return nil
	}
	return m.watch()
}

// say hands a message to the conversation, which waits for it.
func (m *model) say(text string) {
	m.echo(text)
	m.waiting = false
	m.idle.stop()
	m.said <- input{text: text}
}

// leave ends the conversation, at once or when it waits next.
func (m *model) leave() {
	m.quitting = true
	if m.waiting {
		m.waiting = false
		m.said <- input{err: io.EOF}
	}
}

func (m *model) resize(width, height int) {
	m.width, m.height = max(width, 1), max(height, 1)
	m.input.SetWidth(max(m.columns(), minColumns))
	m.input.MaxHeight = max(1, min(8, m.height/3))
	m.input.SetHeight(min(m.input.Height(), m.input.MaxHeight))
}

// minColumns is the narrowest input that can be edited in.
const minColumns = 8

// columns is the width of what is shown. The last column stays empty: a terminal whose cursor waits behind it does not
// agree with others on what comes next.
func (m *model) columns() int { return max(1, m.width-1) }
