package cron

import (
	"fmt"
	"regexp"
	"strings"
)

// Target kinds besides a platform's name.
const (
	TargetLocal   = "local"
	TargetOrigin  = "origin"
	TargetAll     = "all"
	TargetBotChat = "bot-chat"
)

// TargetToken is one token of a deliver text.
type TargetToken struct {
	// Kind is TargetLocal, TargetOrigin, TargetAll, TargetBotChat, or the platform's name.
	Kind string
	// Chat and Thread are the explicit chat, or empty. For a bot chat, Chat is the profile.
	Chat, Thread string
}

var platformName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// ParseDeliver reads a deliver text: tokens separated by commas, each local, origin, all, a platform,
// platform:chat[:thread], platform:#name, bot-chat or bot-chat:profile. An empty text is local. Whether a platform exists
// is decided when delivering.
//
// Implements the grammar of C-220.
func ParseDeliver(text Deliver) ([]TargetToken, error) {
	var tokens []TargetToken
	for _, part := range strings.Split(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		kind, rest, explicit := strings.Cut(part, ":")
		kind = strings.ToLower(strings.TrimSpace(kind))
		token := TargetToken{Kind: kind}
		switch {
		case !platformName.MatchString(kind):
			return nil, fmt.Errorf("deliver %q: %q is not local, origin, all, bot-chat or the name of a platform", text, part)
		case !explicit:
		case kind == TargetLocal || kind == TargetOrigin || kind == TargetAll:
			return nil, fmt.Errorf("deliver %q: %s takes no chat", text, kind)
		case strings.TrimSpace(rest) == "":
			return nil, fmt.Errorf("deliver %q: %q names no chat after the colon", text, part)
		case kind == TargetBotChat || strings.HasPrefix(rest, "#"):
			token.Chat = strings.TrimSpace(rest)
		default:
			chat, thread, _ := strings.Cut(rest, ":")
			token.Chat, token.Thread = strings.TrimSpace(chat), strings.TrimSpace(thread)
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		tokens = []TargetToken{{Kind: TargetLocal}}
	}
	return tokens, nil
}
