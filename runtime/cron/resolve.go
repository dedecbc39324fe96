package cron

import (
	"fmt"
	"slices"
)

// Provenance says why a target was chosen; the stronger wins when one chat is reached twice.
type Provenance int

const (
	// FromBroadcast is one of all.
	FromBroadcast Provenance = iota
	// FromExplicit was written with its chat.
	FromExplicit
	// FromHome is a platform's home channel, also when it stands in for an origin that is not known.
	FromHome
	// FromOrigin is where the job was created.
	FromOrigin
)

// Target is one place to deliver to.
type Target struct {
	// Platform is the logical platform, or TargetBotChat.
	Platform string
	// Chat and Thread name the place; a bot chat has the profile in Chat, empty for its own.
	Chat, Thread string
	From         Provenance
}

// Chat is a place on a platform.
type Chat struct{ ID, Thread string }

// Directory is what deliveries know of a profile's platforms at one moment.
type Directory struct {
	// Platforms are those the profile can deliver to, in the fixed order in which a home channel is looked for: natively
	// connected ones and those a connected relay fronts (C-224).
	Platforms []string
	// Homes are the home channels by platform.
	Homes map[string]Chat
	// RequestOnly are platforms that can only answer a request, so that they are no origin (C-226).
	RequestOnly []string
}

func (d Directory) knows(platform string) bool { return slices.Contains(d.Platforms, platform) }

// Resolve returns where a deliver text leads, each place once, in the order of the text. A value that was written out and
// leads nowhere is an error; an origin that is not known is none.
//
// Implements C-221, T-188, T-194.
func Resolve(text Deliver, origin *Origin, d Directory) ([]Target, error) {
	tokens, err := ParseDeliver(text)
	if err != nil {
		return nil, err
	}
	if origin != nil && (origin.ChatID == "" || slices.Contains(d.RequestOnly, origin.Platform)) {
		origin = nil
	}
	var targets []Target
	for _, token := range tokens {
		found, err := resolveToken(token, origin, d)
		if err != nil {
			return nil, fmt.Errorf("deliver %q: %w", text, err)
		}
		for _, target := range found {
			targets = addTarget(targets, target)
		}
	}
	return targets, nil
}

func resolveToken(t TargetToken, origin *Origin, d Directory) ([]Target, error) {
	switch t.Kind {
	case TargetLocal:
		return nil, nil
	case TargetBotChat:
		return []Target{{Platform: TargetBotChat, Chat: t.Chat, From: FromExplicit}}, nil
	case TargetOrigin:
		return resolveOrigin(origin, d), nil
	case TargetAll:
		var all []Target
		for _, platform := range d.Platforms {
			if home, ok := d.Homes[platform]; ok {
				all = append(all, Target{platform, home.ID, home.Thread, FromBroadcast})
			}
		}
		return all, nil
	}
	if !d.knows(t.Kind) {
		return nil, fmt.Errorf("no platform %q is connected", t.Kind)
	}
	if t.Chat != "" {
		return []Target{{t.Kind, t.Chat, t.Thread, FromExplicit}}, nil
	}
	if home, ok := d.Homes[t.Kind]; ok {
		return []Target{{t.Kind, home.ID, home.Thread, FromHome}}, nil
	}
	if origin != nil && origin.Platform == t.Kind {
		return []Target{{t.Kind, origin.ChatID, origin.ThreadID, FromOrigin}}, nil
	}
	return nil, fmt.Errorf("platform %q has no home channel: name a chat, as in %s:CHAT, or set a home channel", t.Kind, t.Kind)
}

func resolveOrigin(origin *Origin, d Directory) []Target {
	if origin != nil {
		return []Target{{origin.Platform, origin.ChatID, originThread(*origin, d), FromOrigin}}
	}
	for _, platform := range d.Platforms {
		if home, ok := d.Homes[platform]; ok {
			return []Target{{platform, home.ID, home.Thread, FromHome}}
		}
	}
	return nil
}

// originThread drops a thread that grew around the message that made the job: on Slack, when the origin's chat is the
// home chat, the answer goes to the top level or to the home's own thread.
//
// Implements C-223, T-191, T-192.
func originThread(o Origin, d Directory) string {
	if o.Platform != "slack" {
		return o.ThreadID
	}
	if home, ok := d.Homes[o.Platform]; ok && home.ID == o.ChatID {
		return home.Thread
	}
	if o.ThreadID == o.MessageID {
		return ""
	}
	return o.ThreadID
}

// addTarget adds a target unless its place is there already; the stronger provenance stays.
func addTarget(targets []Target, t Target) []Target {
	for i, known := range targets {
		if known.Platform == t.Platform && known.Chat == t.Chat && known.Thread == t.Thread {
			targets[i].From = max(known.From, t.From)
			return targets
		}
	}
	return append(targets, t)
}

// CheckTargets says what stands in the way of a delivery before anything is run: a platform that is neither connected nor
// fronted by a connected relay. What is decided only when delivering (local, origin, all, bot-chat) passes.
//
// Implements the delivery part of C-225, T-189, T-190.
func CheckTargets(text Deliver, d Directory) error {
	tokens, err := ParseDeliver(text)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		switch t.Kind {
		case TargetLocal, TargetOrigin, TargetAll, TargetBotChat:
			continue
		}
		if !d.knows(t.Kind) {
			return fmt.Errorf("deliver %q: no platform %q is connected: connect it or change where the job delivers", text, t.Kind)
		}
	}
	return nil
}
