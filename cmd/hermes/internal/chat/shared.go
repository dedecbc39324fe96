package chat

import (
	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
)

// Target is the profile that is talked with.
type Target = reach.Target

// Visible makes text from outside harmless for a terminal.
func Visible(s string) string { return safetext.Visible(s) }

// Brief is Visible text in one line of at most n characters.
func Brief(s string, n int) string { return safetext.Brief(s, n) }

func visible(s string) string { return safetext.Visible(s) }

func brief(s string, n int) string { return safetext.Brief(s, n) }
