package chat

import (
	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
)

// Target is the profile that is talked with.
type Target = reach.Target

func visible(s string) string { return safetext.Visible(s) }

func brief(s string, n int) string { return safetext.Brief(s, n) }
