package chat

import "hermes.dev/hermes/cmd/hermes/internal/reach"

// Target is the profile that is talked with.
type Target = reach.Target

// Visible makes text from outside harmless for a terminal.
func Visible(s string) string { return visible(s) }

// Brief is Visible text in one line of at most n characters.
func Brief(s string, n int) string { return brief(s, n) }
