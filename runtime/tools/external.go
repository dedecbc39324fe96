package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ServerInfo describes one MCP server of a profile.
type ServerInfo struct {
	Name string `json:"name"`
	// State is a word for people: connected, connecting, asleep, lost, off, invalid or unserved.
	State string `json:"state"`
	// Why says what keeps the server from being connected, and what to do.
	Why string `json:"why,omitempty"`
	// Tools is how many tools it offers.
	Tools int       `json:"tools"`
	Since time.Time `json:"since,omitzero"`
	// NextAttempt is when connecting is tried again.
	NextAttempt time.Time `json:"next_attempt,omitzero"`
	// Notes name the tools that cannot be offered, and why.
	Notes []string `json:"notes,omitempty"`
}

// ServerToolset is the name of the toolset that an MCP server's tools belong to.
func ServerToolset(server string) string { return mcpToolsetPrefix + server }

// ServerSelected reports whether a configuration selects the tools of an MCP server, or single ones whose names begin
// with prefix, and why not.
func ServerSelected(c Config, server, prefix string) (ok bool, why string, err error) {
	s, err := selectConfigured(c)
	if err != nil {
		return false, "", err
	}
	if s.enabled(ServerToolset(server), "") {
		return true, "", nil
	}
	if s.off[ServerToolset(server)] {
		return false, "disabled by disabledToolsets", nil
	}
	for tool := range s.toolsOn {
		if strings.HasPrefix(tool, prefix) {
			return true, "", nil
		}
	}
	return false, "not named in toolsets: add " + ServerToolset(server), nil
}

// Replace makes the tools of a toolset of an MCP server or a plugin be exactly these. A tool that cannot be offered,
// because its name is taken by another toolset or its schema is none, is left out and named in the error; the others
// are offered all the same.
//
// Implements T2, T3, T11.
func (s *Set) Replace(toolset string, list []Tool) error {
	names := map[string]bool{}
	var errs []error
	for _, t := range list {
		t.Toolset = toolset
		if names[t.Name] {
			errs = append(errs, fmt.Errorf("tool %q is there twice", t.Name))
			continue
		}
		if err := s.Register(t, false); err != nil {
			errs = append(errs, err)
			continue
		}
		names[t.Name] = true
	}
	s.registry.retain(toolset, names)
	return errors.Join(errs...)
}

// retain drops the tools of a toolset that are not named.
func (r *registry) retain(toolset string, names map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, e := range r.entries {
		if e.Toolset == toolset && !names[name] {
			delete(r.entries, name)
		}
	}
}

// Bounded prepares a text from outside for the model: it cannot close a turn, and what is too long for the model is
// kept in a file that the text names.
func (s *Set) Bounded(text string) string { return s.bounded(sanitize(text)) }

// Quoted prepares a short text from outside, such as a description, that is shown to the model as a part of ours.
func Quoted(text string, max int) string { return clip(sanitize(text), max) }

// Keep writes a part of a result that is no text into the directory of kept results and returns where.
func (s *Set) Keep(extension string, data []byte) (string, error) {
	if err := os.MkdirAll(s.config.SpillDir, 0o700); err != nil {
		return "", err
	}
	if err := pruneSpill(s.config.SpillDir, maxSpillFiles-1, maxSpillTotal-int64(len(data))); err != nil {
		s.config.Log.Error(err, "old results could not be removed", "directory", s.config.SpillDir)
	}
	name := s.config.Clock.Now().UTC().Format("20060102_150405_") + strings.ToLower(rand.Text()[:8]) + extension
	path := filepath.Join(s.config.SpillDir, name)
	return path, os.WriteFile(path, data, 0o600)
}
