package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// maxRunning bounds the background processes of a profile, maxKept those that are remembered after their end.
	maxRunning = 16
	maxKept    = 64
)

// ProcessState says what is known of a background process.
type ProcessState string

// The states of a background process.
const (
	// ProcessStarting is written before a process is made.
	ProcessStarting ProcessState = "starting"
	ProcessRunning  ProcessState = "running"
	ProcessExited   ProcessState = "exited"
	// ProcessKilled was ended by the agent, or with its profile.
	ProcessKilled ProcessState = "killed"
	// ProcessLost was running when an earlier run of the gateway ended. Nothing of it is taken over; what of it still
	// runs is ended.
	ProcessLost ProcessState = "lost"
	// ProcessFailed could not be started.
	ProcessFailed ProcessState = "failed"
)

// ProcessInfo describes one background process.
type ProcessInfo struct {
	ID      string       `json:"id"`
	Session string       `json:"session"`
	Command string       `json:"command"`
	State   ProcessState `json:"state"`
	PID     int          `json:"pid,omitempty"`
	// Birth tells PID from a later process of that number; Owner and OwnerBirth are the gateway's process. A birth is
	// empty where the kernel does not tell it.
	Birth      string `json:"birth,omitempty"`
	Owner      int    `json:"owner,omitempty"`
	OwnerBirth string `json:"owner_birth,omitempty"`
	// RunID is the run of the gateway that started it.
	RunID     string    `json:"run_id"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	ExitCode  int       `json:"exit_code,omitempty"`
	// Detail says how it ended when an exit code does not.
	Detail string `json:"detail,omitempty"`
	// Bytes it has written so far.
	Bytes int64 `json:"bytes,omitempty"`
}

func (i ProcessInfo) active() bool { return i.State == ProcessStarting || i.State == ProcessRunning }

// ProcessOptions of NewProcesses.
type ProcessOptions struct {
	// Path of the file that says what ran (processes.json of the home).
	Path  string
	RunID string
	// Ended is told about each process that has ended, on a goroutine of its own.
	Ended func(ProcessInfo)
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Processes are the background processes of one profile. They outlive turns and tool sets, and end with Close. The
// methods are safe for concurrent use.
type Processes struct {
	o      ProcessOptions
	stop   context.CancelFunc
	ending context.Context
	group  sync.WaitGroup

	mu     sync.Mutex
	loaded bool
	closed bool
	list   []*managed
}

// managed is one process; info is guarded by the mutex of Processes.
type managed struct {
	info  ProcessInfo
	log   *processLog
	stdin *os.File
	kill  context.CancelFunc
	done  chan struct{}
	// seen is how far the session has read the output.
	seen int64
}

// NewProcesses makes an empty set. It touches nothing until it is used.
func NewProcesses(o ProcessOptions) *Processes {
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	p := &Processes{o: o}
	p.ending, p.stop = context.WithCancel(context.Background())
	return p
}

// List returns what is known of a session's processes, oldest first; "" lists those of every session.
func (p *Processes) List(session string) []ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
	out := []ProcessInfo{}
	for _, m := range p.list {
		if session == "" || m.info.Session == session {
			out = append(out, p.snapshot(m))
		}
	}
	return out
}

// snapshot is m's state with the output so far; p.mu is held.
func (p *Processes) snapshot(m *managed) ProcessInfo {
	info := m.info
	if m.log != nil {
		info.Bytes = m.log.size()
	}
	return info
}

// find returns a process that the session has started.
func (p *Processes) find(session, id string) (*managed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
	for _, m := range p.list {
		if m.info.ID == id && m.info.Session == session {
			return m, nil
		}
	}
	return nil, fmt.Errorf("this session has started no process %q; use action list", clip(oneLine(id), 64))
}

func (p *Processes) state(m *managed) ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot(m)
}

// start runs c in the background. Its record is on disk before the process is made.
func (p *Processes) start(session string, c command, log *processLog) (ProcessInfo, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return ProcessInfo{}, err
	}
	c.stdin, c.out = read, log
	ctx, cancel := context.WithCancel(p.ending)
	m := &managed{log: log, stdin: write, kill: cancel, done: make(chan struct{}), info: ProcessInfo{
		ID: "p-" + strings.ToLower(rand.Text()[:8]), Session: session, Command: clip(c.line, 4096), State: ProcessStarting,
		RunID: p.o.RunID, StartedAt: p.o.Clock.Now().UTC(),
	}}
	if err := p.enter(m); err != nil {
		cancel()
		return ProcessInfo{}, errors.Join(err, read.Close(), write.Close())
	}
	started := make(chan struct{})
	c.started = func(pid int) {
		p.update(m, func(i *ProcessInfo) {
			i.State, i.PID, i.Birth = ProcessRunning, pid, birthOf(pid)
			i.Owner, i.OwnerBirth = os.Getpid(), birthOf(os.Getpid())
		})
		close(started)
	}
	go p.run(ctx, m, c)
	select {
	case <-started:
	case <-m.done:
	}
	info := p.state(m)
	if info.State == ProcessFailed {
		return info, errors.New(info.Detail)
	}
	return info, nil
}

func (p *Processes) enter(m *managed) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
	if p.closed {
		return errors.New("cancelled: this agent is shutting down")
	}
	running := 0
	for _, other := range p.list {
		if other.info.active() {
			running++
		}
	}
	if running >= maxRunning {
		return fmt.Errorf("%d background processes are running, which is the most: end one with process_manage first", running)
	}
	p.list = append(p.list, m)
	p.forget()
	if err := p.save(); err != nil {
		p.list = slices.DeleteFunc(p.list, func(o *managed) bool { return o == m })
		return fmt.Errorf("cannot record the process, so it was not started: %w", err)
	}
	p.group.Add(1)
	return nil
}

// forget drops the oldest processes that have ended; p.mu is held.
func (p *Processes) forget() {
	for i := 0; len(p.list) > maxKept && i < len(p.list); {
		if p.list[i].info.active() {
			i++
			continue
		}
		if p.list[i].log != nil {
			p.list[i].log.close()
		}
		p.list = slices.Delete(p.list, i, i+1)
	}
}

// run is the goroutine of one process. A panic ends the process, not the gateway.
func (p *Processes) run(ctx context.Context, m *managed, c command) {
	defer p.group.Done()
	defer m.kill()
	var end ending
	var err error
	t := background(func() error {
		end, err = runCommand(ctx, clock.RealClock{}, c)
		return err
	})
	<-t.done
	if t.panicked != nil {
		err = fmt.Errorf("it was given up after an internal error: %v", t.panicked)
	}
	_ = m.stdin.Close() // what was written to it has been read or never will be
	p.update(m, func(i *ProcessInfo) { i.conclude(end, err, p.o.Clock.Now().UTC()) })
	close(m.done)
	if p.o.Ended != nil {
		p.o.Ended(p.state(m))
	}
}

// conclude says how a process ended.
func (i *ProcessInfo) conclude(end ending, err error, now time.Time) {
	i.EndedAt, i.State = now, ProcessExited
	switch {
	case err != nil:
		i.State, i.Detail = ProcessFailed, err.Error()
	case end.cancelled:
		i.State, i.Detail = ProcessKilled, "it and everything it started was ended"
	case end.signal != "":
		i.Detail = "ended by signal: " + end.signal
	default:
		i.ExitCode = end.exitCode
	}
	if end.survivors > 0 {
		i.Detail += fmt.Sprintf("; %d of its processes could not be ended", end.survivors)
	}
}

func (p *Processes) update(m *managed, change func(*ProcessInfo)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&m.info)
	if err := p.save(); err != nil {
		p.o.Log.Error(err, "what runs in the background could not be recorded", "process", m.info.ID)
	}
}

// Close ends every process with everything it has started, and waits until they are gone or ctx ends.
func (p *Processes) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	gone := make(chan struct{})
	go func() {
		p.group.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("background processes do not end: %w", ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.list {
		if m.log != nil {
			m.log.close()
		}
	}
	return nil
}
