package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const defaultOutputLimit = 50 << 10

// Set is the tools of one profile. It is safe for concurrent use.
type Set struct {
	config   Config
	rules    []Rule
	sandbox  sandbox
	registry *registry
	toolsets selection
	memory   *memory
	editing  pathLocks
	// processes are the profile's; own says that they end with the Set.
	processes    *Processes
	ownProcesses bool

	mu      sync.Mutex
	retired []*os.File
	closed  bool
	// running counts calls; idle is closed when the last one ends after Close.
	running int
	idle    chan struct{}
	// stop cancels every running call.
	stop    context.CancelFunc
	stopped context.Context
}

// NewSet checks the configuration and builds the tools it selects. It starts
// nothing. The error says which field to change.
func NewSet(c Config) (*Set, error) {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	if c.Mode < ModeAsk || c.Mode > ModeDeny {
		return nil, fmt.Errorf("mode %d is none of Ask, Allow and Deny", c.Mode)
	}
	rules, err := ParseRules(c.Allow)
	if err != nil {
		return nil, err
	}
	toolsets, err := selectConfigured(c)
	if err != nil {
		return nil, err
	}
	if _, err := parseReach(c.Web.AllowPrivate); err != nil {
		return nil, err
	}
	if err := checkEnviron(c.Environ); err != nil {
		return nil, err
	}
	box, err := prepare(&c)
	if err != nil {
		return nil, err
	}
	if c.Approvals == nil {
		c.Approvals = NewApprovals(filepath.Join(c.Home, ApprovalsFile), c.Clock)
	}
	s := &Set{config: c, rules: rules, sandbox: box, toolsets: toolsets, registry: newRegistry(), memory: newMemory(c.Approvals), idle: make(chan struct{})}
	if s.processes = c.Processes; s.processes == nil {
		s.ownProcesses = true
		s.processes = NewProcesses(ProcessOptions{Path: filepath.Join(c.Home, ProcessesFile), RunID: c.RunID, Clock: c.Clock, Log: c.Log})
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	for _, t := range append(s.builtins(), faultTools()...) {
		if err := s.registry.register(t, false); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// prepare makes the paths of c canonical and creates what belongs to the home.
func prepare(c *Config) (sandbox, error) {
	home, err := canonical("home", c.Home)
	if err != nil {
		return sandbox{}, err
	}
	c.Home = home
	if filepath.IsAbs(c.Workspace) {
		if _, inside := below(home, filepath.Clean(c.Workspace)); inside {
			if err := os.MkdirAll(c.Workspace, 0o750); err != nil {
				return sandbox{}, fmt.Errorf("workspace: %w", err)
			}
		}
	}
	if c.Workspace, err = canonical("workspace", c.Workspace); err != nil {
		return sandbox{}, err
	}
	box := sandbox{roots: []string{c.Workspace}, home: home, commandHome: filepath.Join(home, "home"), guarded: guardedRoots(c.Guarded)}
	for i, r := range c.Roots {
		root, err := canonical(fmt.Sprintf("roots[%d]", i), r)
		if err != nil {
			return sandbox{}, err
		}
		box.roots = append(box.roots, root)
	}
	if c.SpillDir == "" {
		c.SpillDir = filepath.Join(home, "cache", "tool-output")
	}
	for field, dir := range map[string]string{"home": box.commandHome, "spillDir": c.SpillDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return sandbox{}, fmt.Errorf("%s: %w", field, err)
		}
	}
	// A root of its own, so that the model can read the file a result names.
	if c.SpillDir, err = canonical("spillDir", c.SpillDir); err != nil {
		return sandbox{}, err
	}
	box.roots = append(box.roots, c.SpillDir)
	return box, nil
}

// canonical requires an existing absolute directory and follows its symlinks.
func canonical(field, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s: %q must be an absolute path", field, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", field, dir, plain(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", field, dir, plain(err))
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: %s is not a directory", field, dir)
	}
	return real, nil
}

func (s *Set) outputLimit() int {
	if s.config.OutputLimit > 0 {
		return s.config.OutputLimit
	}
	return defaultOutputLimit
}

// Register adds a tool of a plugin or an MCP server. A name another toolset
// provides is refused unless override.
//
// Implements T2, T3.
func (s *Set) Register(t Tool, override bool) error {
	if err := checkTool(t); err != nil {
		return err
	}
	if _, err := compileSchema(t.Parameters); err != nil {
		return fmt.Errorf("tool %q has an invalid schema: %w", t.Name, err)
	}
	return s.registry.register(t, override)
}

func (s *Set) offered(e *entry) bool {
	return s.toolsets.enabled(e.Toolset, e.Name) && s.available(e)
}

func (s *Set) available(e *entry) bool {
	switch {
	case e.Available == nil:
		return true
	case e.UncachedCheck:
		return e.Available()
	}
	return e.check.ask(s.config.Clock.Now(), e.Available)
}

// Definitions lists the tools the model may call now, sorted by name.
//
// Implements T7.
func (s *Set) Definitions() []Definition {
	entries := s.registry.selected(s.offered)
	out := make([]Definition, len(entries))
	for i, e := range entries {
		out[i] = e.Definition
	}
	return out
}

// Interactive reports whether the named tool waits for a person, so that it
// must not run beside other calls (L7).
func (s *Set) Interactive(name string) bool {
	e, ok := s.registry.lookup(name)
	return ok && e.Interactive
}

// Run checks, asks about and runs one call on the caller's goroutine. It
// always returns a result for the model. A panic of a handler passes through.
//
// Implements T5 and the approval step of L8.
func (s *Set) Run(ctx context.Context, sessionID string, c Call, approve ApproveFunc) Result {
	if !s.begin() {
		return errorResult(errors.New("cancelled: this agent is shutting down"))
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()

	c.session, c.ask = sessionID, approve
	result, err := s.run(ctx, c)
	if err == nil {
		return result
	}
	s.config.Log.V(1).Info("tool call refused or failed", "tool", c.Name, "session", sessionID, "error", clip(err.Error(), logErrorCap))
	return errorResult(err)
}

func (s *Set) run(ctx context.Context, c Call) (Result, error) {
	e, ok := s.registry.lookup(c.Name)
	if !ok || !s.offered(e) {
		return Result{}, s.unknown(c.Name)
	}
	args, err := checkArguments(e, c.Arguments)
	if err != nil {
		return Result{}, err
	}
	c.Arguments = args
	plan := Plan{Summary: "call " + c.Name}
	if e.Plan != nil {
		if plan, err = e.Plan(c); err != nil {
			return Result{}, err
		}
	}
	if err := s.approve(ctx, e, c, plan); err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, errors.New("cancelled before it started")
	}
	return e.Handler(ctx, c)
}

// unknown words the answer to a tool that is not there.
//
// Implements T5, T14.
func (s *Set) unknown(name string) error {
	defs := s.Definitions()
	names := make([]string, len(defs))
	for i, d := range defs {
		names[i] = d.Name
	}
	if now := renamedTo(name); now != "" {
		return fmt.Errorf("there is no tool %q; it is called %q now; %s", clip(name, 64), now, availableTools(names))
	}
	return fmt.Errorf("there is no tool %q; %s", clip(oneLine(name), 64), availableTools(names))
}

func availableTools(names []string) string {
	if len(names) == 0 {
		return "no tool is available"
	}
	return "available tools: " + strings.Join(names, ", ")
}

func (s *Set) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running++
	return true
}

func (s *Set) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.closed && s.running == 0 {
		close(s.idle)
	}
}

// Close cancels every running call, which ends every process it started, and
// waits until they are gone. Background processes end with it unless they are the profile's. It returns ctx's error when they are not gone in
// time. Later calls are refused.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.stop()
		if s.running == 0 {
			close(s.idle)
		}
	}
	running := s.running
	s.mu.Unlock()
	select {
	case <-s.idle:
		if s.ownProcesses {
			return s.processes.Close(ctx)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d tool calls still running: %w", running, ctx.Err())
	}
}
