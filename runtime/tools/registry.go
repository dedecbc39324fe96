package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Handler runs one call on the caller's goroutine. The arguments have passed
// the tool's schema. An error becomes `{"error":…}` for the model.
type Handler func(ctx context.Context, c Call) (Result, error)

// Tool is a registry entry. A tool belongs to exactly one toolset.
//
// Implements T1.
type Tool struct {
	Definition
	Toolset string
	Handler Handler
	// Plan says what the call is about to do, for the approval step. Nil means
	// a call that always needs approval and is summarised by its name.
	Plan func(c Call) (Plan, error)
	// Available reports whether the tool can work now; nil means always. Its
	// answers are cached for a short time unless UncachedCheck.
	Available     func() bool
	UncachedCheck bool
	// Interactive marks a tool that waits for a person, so that the turn loop
	// does not run it beside others (L7).
	Interactive bool
	// Approval is what one decision of a person covers, one of the Approval constants; empty means ApprovalNone for a
	// tool with a Plan and ApprovalPerTool for one without.
	Approval string
	// Missing says what has to be done when Available says no.
	Missing string
}

// What one decision of a person covers.
const (
	ApprovalNone       = "none"
	ApprovalPerTool    = "this tool"
	ApprovalPerCommand = "this exact command"
	ApprovalPerHost    = "this host"
)

// Plan is a call as the approval step sees it.
type Plan struct {
	Summary string
	// Command is the complete shell command, or the input of one; it is judged by Dangerous.
	Command string
	// Subject is what a decision and the pattern of an allow rule are about; empty means Command.
	Subject string
	// ReadOnly calls need no approval.
	ReadOnly bool
	// Unasked calls need none either, although running one twice is not the same as running it once.
	Unasked bool
}

type entry struct {
	Tool
	check   availability
	compile func() (*jsonschema.Resolved, error)
}

// registry holds the tools of one Set.
type registry struct {
	mu      sync.RWMutex
	entries map[string]*entry
}

func newRegistry() *registry { return &registry{entries: map[string]*entry{}} }

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// register adds a tool. A name taken by another toolset is refused unless
// override; the same toolset may replace its own tool.
//
// Implements T2, T3.
func (r *registry) register(t Tool, override bool) error {
	if err := checkTool(t); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.entries[t.Name]; ok && old.Toolset != t.Toolset && !override {
		return fmt.Errorf("tool %q of toolset %q is already provided by toolset %q: rename it or register it as an override", t.Name, t.Toolset, old.Toolset)
	}
	r.entries[t.Name] = &entry{Tool: t, compile: sync.OnceValues(func() (*jsonschema.Resolved, error) { return compileSchema(t.Parameters) })}
	return nil
}

// checkTool finds the mistakes a provider would answer with an unhelpful 400.
//
// Implements T2.
func checkTool(t Tool) error {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("tool name %q must be 1 to 64 letters, digits, '_' or '-'", t.Name)
	case t.Toolset == "":
		return fmt.Errorf("tool %q names no toolset", t.Name)
	case t.Handler == nil:
		return fmt.Errorf("tool %q has no handler", t.Name)
	case t.Parameters == nil:
		return fmt.Errorf("tool %q: parameters must be a JSON schema of type object, but there is none", t.Name)
	case t.Parameters["type"] != "object":
		return fmt.Errorf("tool %q: parameters must be a JSON schema of type object, not %v", t.Name, t.Parameters["type"])
	}
	if p, ok := t.Parameters["properties"]; ok {
		if _, ok := p.(map[string]any); !ok {
			return fmt.Errorf("tool %q: the schema's properties must be an object, not %T", t.Name, p)
		}
	}
	return nil
}

func compileSchema(parameters map[string]any) (*jsonschema.Resolved, error) {
	raw, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

func (r *registry) lookup(name string) (*entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.entries[name]
	return e, ok
}

// selected lists the entries keep accepts, sorted by name so that the prompt
// prefix stays the same from turn to turn.
//
// Implements T7.
func (r *registry) selected(keep func(*entry) bool) []*entry {
	r.mu.RLock()
	all := slices.Collect(maps.Values(r.entries))
	r.mu.RUnlock()
	// keep may ask a tool's check, which may take its time or register tools.
	out := slices.DeleteFunc(all, func(e *entry) bool { return !keep(e) })
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}
