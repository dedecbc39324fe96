package profile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/runtime/tools/mcp"
)

// Clock is what a runtime needs of time.
type Clock interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

// Options of a Runtime.
type Options struct {
	// Paths of the profile's home, already written.
	Paths home.Paths
	// RunID of this gateway run; commands of tools carry it, so that they can be found.
	RunID string
	// Transport carries model calls; profiles share it for its connections only, nil means one of its own.
	Transport http.RoundTripper
	// Timeouts and Retries of model calls; zero values are the defaults of llm.
	Timeouts llm.Timeouts
	Retries  llm.Policy
	// Inventory of unlinked logs, shared by the profiles of a process; nil means one's own.
	Inventory *store.Inventory
	// StoreIdle is how long an unused store stays open; 0 means 2 minutes.
	StoreIdle time.Duration
	// Changed is called, without locks held, after the health or the store's figures may have changed.
	Changed func()
	// Titled is told about every title that is given without asking, with the stage that gave it (S-241); nil when
	// nobody renames anything. It may come from a goroutine of its own and after the turn.
	Titled func(agent.TitleEvent)
	// Observe is told about every finished turn.
	Observe func(outcome string, usage llm.Usage, took time.Duration)
	// BackupGate bounds how many scheduled backups run at once in the process; nil bounds nothing.
	BackupGate chan struct{}
	// Guarded are directories beside the home root that the file tools of no profile use.
	Guarded []string
	// Orphans finds what hid from the command that started it; the process has one, nil does without.
	Orphans *tools.Orphans
	// ServerStarts bounds how many local MCP servers start at once in the process; nil bounds those of the profile.
	ServerStarts chan struct{}
	// ProcessEnded is told about every background process of the tools that has ended; nil tells nobody.
	ProcessEnded func(tools.ProcessInfo)
	// MayTick reports whether this process may hand out the profile's jobs now; nil outside a gateway, where none is
	// handed out unasked.
	MayTick func() bool
	Clock   Clock
	Log     logr.Logger
}

// ErrClosed means the profile is being closed and takes no new work.
var ErrClosed = errors.New("the profile is closed")

// ErrDraining means the gateway finishes what it has begun and takes no new turns.
var ErrDraining = errors.New("the gateway is stopping: try again in a moment")

// ConfigError means that the configuration or the secrets on disk cannot be used as they are.
type ConfigError struct {
	// Err says what to change.
	Err error
}

// Error says what to change.
func (e *ConfigError) Error() string {
	return "the profile's configuration cannot be used: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// CrashError means the runtime crashed and is restarted with back-off.
type CrashError struct {
	// Cause is the panic's value as text.
	Cause string
	// Until is when turns are taken again.
	Until time.Time
}

// Error says what happened and when to try again.
func (e *CrashError) Error() string {
	return fmt.Sprintf("the profile's runtime crashed (%s): turns are taken again after %s", e.Cause, e.Until.Format(time.TimeOnly))
}

// Runtime is one open profile. Its methods are safe for concurrent use.
type Runtime struct {
	o         Options
	config    *home.View
	env       *home.EnvView
	store     *lazyStore
	courier   courier // of what delegated work has to tell
	followers followers
	// processes, approvals and MCP servers outlive the engines, whose tools use them.
	processes *tools.Processes
	approvals *tools.Approvals
	servers   *mcp.Servers
	// connecting is held while the MCP servers are compared with the configuration.
	connecting sync.Mutex

	// closing ends when the runtime closes; turns end with it.
	closing context.Context
	close   context.CancelFunc

	// background holds turns, other calls in progress, and goroutines that retire old engines. It is added to
	// under mu while the runtime is open, or by something it holds already.
	background sync.WaitGroup

	mu       sync.Mutex
	engine   *engine
	running  map[string]answering // by session
	freed    chan struct{}        // closed when the next of them is over
	hadKey   keyed                // the servers a model key was seen for in this runtime's life
	closed   bool
	draining bool
	active   int
	idle     chan struct{} // closed when active falls to 0 while closing or draining
	breaker  breaker
	crash    string
	recovery clock.Timer
	health   storeHealth
	// storeAgain is when a store that failed is looked at again.
	storeAgain storeAgain
	// modelHealth is what the last turn showed of the model.
	modelHealth modelHealth
	// verdictKnown says that what an earlier run knew of the model has been read, or is no longer true; verdictKept that
	// a file says something of it. keeping orders the writes.
	verdictKnown, verdictKept bool
	keeping                   sync.Mutex
	// backups is the state of scheduled backups.
	backups scheduledBackups
	jobs    jobs
}

// Open makes a runtime of a written home. It touches no file and starts no
// goroutine: store, tools and model are made by the first turn that needs them.
func Open(o Options) *Runtime {
	if o.StoreIdle == 0 {
		o.StoreIdle = 2 * time.Minute
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Observe == nil {
		o.Observe = func(string, llm.Usage, time.Duration) {}
	}
	closing, cancel := context.WithCancel(context.Background())
	r := &Runtime{
		processes: tools.NewProcesses(tools.ProcessOptions{
			Path: filepath.Join(o.Paths.Home, tools.ProcessesFile), RunID: o.RunID, Ended: o.ProcessEnded, Clock: o.Clock, Log: o.Log,
		}),
		approvals: approvalsOf(o.Paths, o.Clock),
		o:         o, closing: closing, close: cancel, running: map[string]answering{},
		config: home.NewView(o.Paths.Config(), o.Clock),
		env:    home.NewEnvView(o.Paths, o.Clock),
		store:  newLazyStore(o.Paths.Store(), o.StoreIdle, o.Clock, o.Log),
	}
	r.store.inventory = o.Inventory
	r.servers = newServers(o)
	return r
}

func approvalsOf(paths home.Paths, clk clock.PassiveClock) *tools.Approvals {
	return tools.NewApprovals(filepath.Join(paths.Home, tools.ApprovalsFile), clk)
}

// EndLeftovers ends the background processes of an earlier gateway that outlived it.
func (r *Runtime) EndLeftovers() { r.processes.EndLeftovers() }

// Name of the profile.
func (r *Runtime) Name() string { return r.o.Paths.Name }

// Paths of the profile's home.
func (r *Runtime) Paths() home.Paths { return r.o.Paths }

// Declare tells what the Profile declares of the configuration. It holds from the next turn on, and no file of the home
// changes it any more. Before, what the home's record says was declared holds, as long as config.yaml agrees with it.
func (r *Runtime) Declare(d *home.Declaration) { r.config.Declare(d) }

// Reload makes the next turn see a home that was written again, and MCP servers change with it.
func (r *Runtime) Reload() {
	r.config.Invalidate()
	r.env.Invalidate()
	r.Connect()
}

// Active counts the turns in flight.
func (r *Runtime) Active() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// Drain refuses new turns and waits until those in flight are over or ctx ends; the return value counts what is left.
func (r *Runtime) Drain(ctx context.Context) int {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	if err := r.stopJobs(ctx); err != nil {
		r.o.Log.Error(err, "stop scheduled work")
	}
	r.mu.Lock()
	idle := r.waitIdle()
	r.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	return r.Active()
}

// waitIdle returns a channel that is closed when nothing is in flight; r.mu is held.
func (r *Runtime) waitIdle() <-chan struct{} {
	if r.active == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	return r.idle
}

// Close interrupts what is in flight, waits for it until ctx ends, ends every
// process the tools started and closes the store. What is still running when ctx
// ends is an error; it can do nothing more to the store.
func (r *Runtime) Close(ctx context.Context) error {
	jobs := r.closeJobs() // first, so that what runs is recorded as interrupted and not as failed
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	e := r.engine
	r.engine = nil
	idle := r.waitIdle()
	if r.recovery != nil {
		r.recovery.Stop()
	}
	r.watchStore()
	r.backups.stop()
	r.retire(e)
	r.mu.Unlock()
	r.close()
	r.courier.stopSweep()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	return errors.Join(jobs, r.servers.Close(ctx), r.processes.Close(ctx), r.store.close(ctx), r.waitBackground(ctx))
}

// waitBackground waits for everything this runtime started until ctx ends.
func (r *Runtime) waitBackground(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		r.background.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("profile %s: %d turns do not end: %w", r.Name(), r.Active(), context.Cause(ctx))
	}
}
