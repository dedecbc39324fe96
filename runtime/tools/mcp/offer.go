package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.dev/hermes/runtime/tools"
)

// What one server may offer: how many tools, and how much of a description is shown.
const (
	maxTools       = 512
	maxDescription = 4 << 10
)

// offer is what a server has, as far as the declaration lets it through.
type offer struct {
	tools []item
	// notes name what cannot be offered, and why.
	notes []string
	// settings are those that it was read with.
	settings Server
}

func (o offer) has(tool string) bool {
	return slices.ContainsFunc(o.tools, func(t item) bool { return t.Name == tool })
}

// item is one tool of an offer.
type item struct {
	tools.Definition
	// readOnly is a call that changes nothing, or that nobody has to be asked about.
	readOnly bool
	run      func(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (tools.Result, error)
}

// list reads what a server offers.
func (s *server) list(ctx context.Context, l *link) (offer, error) {
	ctx, cancel := l.within(ctx, s.v.o.Clock, l.settings.ConnectTimeout)
	defer cancel()
	o := offer{settings: l.settings}
	caps := &sdk.ServerCapabilities{}
	if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil {
		caps = r.Capabilities
	}
	var found []*sdk.Tool
	if caps.Tools != nil {
		for t, err := range l.session.Tools(ctx, nil) {
			if err != nil {
				if cause := context.Cause(ctx); cause != nil {
					err = cause
				}
				return offer{}, fmt.Errorf("its tools cannot be read: %w", err)
			}
			if len(found) == maxTools {
				o.notes = append(o.notes, fmt.Sprintf("it has more than %d tools: the others are left out", maxTools))
				break
			}
			found = append(found, t)
		}
	}
	s.mu.Lock()
	serverWord := s.word
	s.mu.Unlock()
	o.add(serverWord, found)
	o.addUtilities(serverWord, caps)
	return o, nil
}

// add takes the tools that the filter lets through.
//
// Implements T16.
func (o *offer) add(serverWord string, found []*sdk.Tool) {
	var names []string
	byName := map[string]*sdk.Tool{}
	for _, t := range found {
		if offered(o.settings.Include, o.settings.Exclude, t.Name) && byName[t.Name] == nil {
			byName[t.Name] = t
			names = append(names, t.Name)
		}
	}
	for name, toolWord := range words(names) {
		o.tools = append(o.tools, o.tool(toolName(serverWord, toolWord), byName[name]))
	}
	slices.SortFunc(o.tools, func(a, b item) int { return strings.Compare(a.Name, b.Name) })
}

// tool makes one of a server's tools ours.
//
// Implements T18.
func (o *offer) tool(name string, t *sdk.Tool) item {
	given, _ := t.InputSchema.(map[string]any)
	parameters := map[string]any{}
	maps.Copy(parameters, given)
	if _, ok := parameters["type"]; !ok {
		parameters["type"] = "object" // servers leave it out for tools without arguments
	}
	description := t.Description
	if description == "" {
		description = t.Title
	}
	original := t.Name
	return item{
		Definition: tools.Definition{Name: name, Description: tools.Quoted(description, maxDescription), Parameters: parameters},
		readOnly:   !o.settings.Untrusted || t.Annotations != nil && t.Annotations.ReadOnlyHint,
		run: func(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (tools.Result, error) {
			res, err := l.session.CallTool(ctx, &sdk.CallToolParams{Name: original, Arguments: args})
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Content: render(set, res.Content, res.StructuredContent), IsError: res.IsError}, nil
		},
	}
}

// publish makes an offer the server's tools in every set. Tools that a set refuses become notes.
func (s *server) publish(o offer) {
	s.mu.Lock()
	s.offer, s.status.known = o, true
	s.mu.Unlock()
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	if s.declared().removed {
		return // it was taken out of the declaration meanwhile
	}
	for set := range s.v.sets {
		s.offerIn(set)
	}
}

// rename takes a new word for the names of tools; s.v.mu is held.
func (s *server) rename(toolWord string) {
	s.mu.Lock()
	changed := s.word != toolWord
	s.word = toolWord
	l := s.link
	s.mu.Unlock()
	if changed && l != nil {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// offerIn offers what is known in one set; s.v.mu is held.
func (s *server) offerIn(set *tools.Set) {
	_, o := s.snapshot()
	list := make([]tools.Tool, 0, len(o.tools))
	for _, t := range o.tools {
		list = append(list, s.entry(set, t, o.settings.Untrusted))
	}
	if err := set.Replace(tools.ServerToolset(s.name), list); err != nil {
		notes := strings.Split(err.Error(), "\n")
		s.mu.Lock()
		for _, note := range notes {
			if !slices.Contains(s.offer.notes, note) {
				s.offer.notes = append(slices.Clip(s.offer.notes), note)
			}
		}
		s.mu.Unlock()
		s.v.o.Log.Info("tools of an MCP server cannot be offered", "server", s.name, "why", notes)
	}
}

// entry is a tool as the registry of a set takes it.
func (s *server) entry(set *tools.Set, t item, untrusted bool) tools.Tool {
	approval := tools.ApprovalNone
	if untrusted && !t.readOnly {
		approval = tools.ApprovalPerTool
	}
	return tools.Tool{
		Definition: t.Definition,
		Approval:   approval,
		Plan: func(c tools.Call) (tools.Plan, error) {
			return tools.Plan{Summary: "MCP server " + s.name + ": " + t.Name + " " + tools.Quoted(oneLine(string(c.Arguments)), 400), ReadOnly: t.readOnly}, nil
		},
		Handler: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			return s.call(ctx, t.Name, func(ctx context.Context, l *link) (tools.Result, error) { return t.run(ctx, set, l, c.Arguments) })
		},
		Available: func() bool {
			st, _ := s.snapshot()
			return st.toolsAvailable(s.v.o.Clock.Now())
		},
		// The answer is known exactly and has the grace of T8 in it.
		UncachedCheck: true,
		Missing:       "MCP server " + s.name + " is not connected",
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
