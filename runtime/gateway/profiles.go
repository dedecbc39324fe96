package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/node"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// profiles is the set of open profiles of this process.
type profiles struct {
	runID     string
	orphans   *tools.Orphans
	guarded   []string
	transport http.RoundTripper
	clock     profile.Clock
	log       logr.Logger
	metrics   *metrics
	changes   chan string
	inventory *store.Inventory
	// mayTick reports whether a profile's jobs may be handed out here now; set before the first profile is opened.
	mayTick func(profile string) bool
	// checks bounds how many stores are opened at once to see whether they are sound.
	checks chan struct{}
	// serverStarts bounds how many MCP servers of all profiles start at once: a laptop does not stand sixty npx.
	serverStarts chan struct{}
	// backupGate bounds how many scheduled backups run at once: they may all be due at the same moment.
	backupGate chan struct{}

	// ctx ends when the process stops; what runs in the background ends with it.
	ctx        context.Context
	cancel     context.CancelFunc
	background sync.WaitGroup

	mu      sync.Mutex
	open    map[string]*profile.Runtime
	pending map[string]bool
	signal  chan struct{}
}

var _ node.Profiles = (*profiles)(nil)

func newProfiles(runID string, orphans *tools.Orphans, transport http.RoundTripper, clk profile.Clock, m *metrics, log logr.Logger) *profiles {
	ctx, cancel := context.WithCancel(context.Background())
	p := &profiles{
		cancel: cancel,
		runID:  runID, orphans: orphans, transport: transport, clock: clk, log: log, metrics: m, ctx: ctx,
		inventory: store.NewInventory(clk),
		changes:   make(chan string), checks: make(chan struct{}, 2), serverStarts: make(chan struct{}, 4), backupGate: make(chan struct{}, 1),
		open: map[string]*profile.Runtime{}, pending: map[string]bool{}, signal: make(chan struct{}, 1),
	}
	p.background.Go(p.announce)
	return p
}

// Open implements node.Profiles.
func (p *profiles) Open(_ context.Context, paths home.Paths, declared *home.Declaration) error {
	if _, err := os.ReadDir(paths.Home); err != nil {
		return fmt.Errorf("open home: %w", err)
	}
	p.mu.Lock()
	r, ok := p.open[paths.Name]
	if !ok {
		r = p.newRuntime(paths)
		p.open[paths.Name] = r
		p.metrics.served.Set(float64(len(p.open)))
	}
	p.mu.Unlock()
	if declared != nil {
		r.Declare(declared)
	}
	if ok {
		r.Reload()
		r.ScheduleBackups()
		return nil
	}
	p.checkStore(r)
	r.Connect()
	r.ScheduleBackups()
	return nil
}

func (p *profiles) newRuntime(paths home.Paths) *profile.Runtime {
	name := paths.Name
	return profile.Open(profile.Options{
		Paths: paths, RunID: p.runID, Transport: p.transport, Clock: p.clock, Inventory: p.inventory,
		Log:     p.log.WithValues("profile", name),
		Changed: func() { p.changed(name) },
		Observe: p.metrics.turn, BackupGate: p.backupGate,
		Orphans: p.orphans, Guarded: p.guarded, ServerStarts: p.serverStarts,
		MayTick: func() bool { return p.mayTick != nil && p.mayTick(name) },
	})
}

// checkStore looks at an existing store in the background, so that a damaged one is
// known before the first message and a thousand sound ones do not delay the start.
func (p *profiles) checkStore(r *profile.Runtime) {
	if _, err := os.Lstat(r.Paths().Store()); err != nil {
		return // no store yet; lstat opens nothing (S-133)
	}
	p.background.Go(func() {
		select {
		case p.checks <- struct{}{}:
			defer func() { <-p.checks }()
			r.EndLeftovers()
			r.CheckStore(p.ctx)
		case <-p.ctx.Done():
		}
	})
}

// Close implements node.Profiles.
func (p *profiles) Close(ctx context.Context, name string) error {
	p.mu.Lock()
	r, ok := p.open[name]
	delete(p.open, name)
	p.metrics.served.Set(float64(len(p.open)))
	p.mu.Unlock()
	if !ok {
		return nil
	}
	return r.Close(ctx)
}

// Health implements node.Profiles.
func (p *profiles) Health(name string) (node.Health, bool) {
	r, ok := p.lookup(name)
	if !ok {
		return node.Health{}, false
	}
	h := r.Health()
	return node.Health{Reason: h.Reason, Message: h.Message, Store: h.Store, Backup: (*node.BackupHealth)(h.Backup)}, true
}

// Served implements node.Profiles.
func (p *profiles) Served() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(p.open))
	for name := range p.open {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Changes implements node.Profiles.
func (p *profiles) Changes() <-chan string { return p.changes }

func (p *profiles) lookup(name string) (*profile.Runtime, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.open[name]
	return r, ok
}

// changed remembers a change; it never blocks, and many changes of one profile are one announcement.
func (p *profiles) changed(name string) {
	p.mu.Lock()
	p.pending[name] = true
	p.mu.Unlock()
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// announce hands remembered changes to whoever listens, until the process stops.
func (p *profiles) announce() {
	for {
		name, ok := p.next()
		if !ok {
			select {
			case <-p.signal:
				continue
			case <-p.ctx.Done():
				return
			}
		}
		select {
		case p.changes <- name:
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *profiles) next() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.pending {
		delete(p.pending, name)
		return name, true
	}
	return "", false
}

func (p *profiles) all() []*profile.Runtime {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*profile.Runtime, 0, len(p.open))
	for _, r := range p.open {
		out = append(out, r)
	}
	return out
}

// active counts the turns in flight in all profiles.
func (p *profiles) active() int {
	n := 0
	for _, r := range p.all() {
		n += r.Active()
	}
	return n
}

// drain refuses new turns everywhere and waits for those in flight until ctx ends.
func (p *profiles) drain(ctx context.Context) int {
	left := make(chan int)
	all := p.all()
	for _, r := range all {
		go func() { left <- r.Drain(ctx) }()
	}
	total := 0
	for range all {
		total += <-left
	}
	return total
}

// shutdown closes every profile and ends what runs in the background.
func (p *profiles) shutdown(ctx context.Context) error {
	var errs []error
	for _, name := range p.Served() {
		errs = append(errs, p.Close(ctx, name))
	}
	p.cancel()
	p.background.Wait()
	return errors.Join(errs...)
}
