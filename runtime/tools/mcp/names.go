package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	namePrefix = "mcp__"
	// maxName is what model providers accept.
	maxName = 64
)

// word replaces what must not be in a part of a tool's name; '-' too, so that the boundaries are unambiguous.
//
// Implements T16.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}

// mark tells apart what would otherwise have one name; it depends on the original only, so it stays the same.
func mark(original string) string {
	sum := sha256.Sum256([]byte(original))
	return "_" + hex.EncodeToString(sum[:4])
}

// words gives each original a word of its own: the first in order keeps the plain one.
func words(originals []string) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	for _, o := range slices.Sorted(slices.Values(originals)) {
		w := word(o)
		if taken[w] {
			w += mark(o)
		}
		out[o], taken[w] = w, true
	}
	return out
}

// toolName is mcp__<server>__<tool>; one that is too long for a provider is cut and marked.
func toolName(serverWord, toolWord string) string {
	name := namePrefix + serverWord + "__" + toolWord
	if len(name) <= maxName {
		return name
	}
	m := mark(name)
	return name[:maxName-len(m)] + m
}

// ToolPrefix is how the names of a server's tools begin.
func ToolPrefix(server string) string { return toolName(word(server), "") }

// offered reports whether the filter lets a tool through, by its original name. What Include names is offered whatever
// Exclude says, and nothing else is once there is an Include.
//
// Implements T16.
func offered(include, exclude []string, tool string) bool {
	if len(include) > 0 {
		return matches(include, tool)
	}
	return !matches(exclude, tool)
}

func matches(patterns []string, tool string) bool {
	for _, p := range patterns {
		if p == tool {
			return true
		}
		// A name is no path: '*' covers a '/' like everything else.
		if ok, _ := doublestar.Match(strings.ReplaceAll(p, "/", "\x01"), strings.ReplaceAll(tool, "/", "\x01")); ok {
			return true
		}
	}
	return false
}
