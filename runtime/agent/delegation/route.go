package delegation

import (
	"strings"

	"hermes.dev/hermes/runtime/session"
)

// Adapter is a connection to a platform, as far as choosing one goes.
type Adapter struct {
	// Name is what it is registered under.
	Name string
	// Relay says that it speaks for the platforms in Fronts instead of being one.
	Relay  bool
	Fronts []string
}

// Choose names the adapter that reaches a logical platform: the native one first, whatever name it goes by, then a relay
// that fronts the platform, and at last one whose name is literally it. alias gives the platform that a name stands for.
//
// Implements S-224.
func Choose(platform string, adapters []Adapter, alias func(name string) string) (name string, ok bool) {
	want := strings.ToLower(alias(platform))
	for _, a := range adapters {
		if !a.Relay && strings.ToLower(alias(a.Name)) == want {
			return a.Name, true
		}
	}
	for _, a := range adapters {
		for _, front := range a.Fronts {
			if a.Relay && strings.ToLower(alias(front)) == want {
				return a.Name, true
			}
		}
	}
	for _, a := range adapters {
		if !a.Relay && a.Name == platform {
			return a.Name, true
		}
	}
	return "", false
}

// Rebuild gives the source that a completion is delivered to: the stored origin of its session, else what was cached of
// it, else what the key and the event say. unscoped is true for a chat of a platform that has scopes, without one: that
// cannot be routed to its tenant and is worth a warning.
//
// Implements S-225.
func Rebuild(stored, cached *session.Source, e Event) (s session.Source, unscoped bool) {
	switch {
	case stored != nil:
		s = *stored
	case cached != nil:
		s = *cached
	default:
		s = fromKey(e.SessionKey)
	}
	if s.ScopeID == "" {
		s.ScopeID = e.ScopeID
	}
	if s.UserID == "" {
		s.UserID = e.UserID
	}
	if s.UserName == "" {
		s.UserName = e.UserName
	}
	return s, s.ScopeID == "" && s.ChatType != session.TypeDM && (s.Platform == "discord" || s.Platform == "slack")
}

// fromKey reads the platform, the type and the chat out of a session key. It is a last resort: a key does not say which
// of its parts is which beyond that, so only the first three are taken, and the thread where the type promises one.
func fromKey(key string) session.Source {
	parts := strings.Split(key, ":")
	if len(parts) < 4 || parts[0] != "agent" {
		return session.Source{}
	}
	s := session.Source{Platform: parts[2], ChatType: parts[3]}
	rest := parts[4:]
	if s.Platform == "slack" && len(rest) > 1 {
		s.ScopeID, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		s.ChatID = rest[0]
	}
	if s.ChatType == session.TypeThread && len(rest) > 1 {
		s.ThreadID = rest[1]
	}
	return s
}

// Origin is whose turn delegates, from the stored source of its session and the user its row names.
//
// Implements S-203.
func Origin(stored []byte, userID string) Routing {
	s, err := session.DecodeStored(stored)
	if err != nil {
		s = session.Source{}
	}
	r := Routing{ScopeID: s.ScopeID, UserID: s.UserID, UserName: s.UserName}
	if r.UserID == "" {
		r.UserID = userID
	}
	return r
}
