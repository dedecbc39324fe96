package session

import (
	"strings"
)

const (
	platformSlack    = "slack"
	platformWhatsApp = "whatsapp"

	keyRoot = "agent"
	// defaultNamespace is the default profile's; a profile that is literally
	// named so gets reservedNamespace, which no profile can be named.
	defaultNamespace  = "main"
	reservedNamespace = "main~"
	defaultProfile    = "default"
)

// Options are the settings that shape a key. The zero value is the default
// behaviour.
type Options struct {
	// Profile is the profile the key is for; empty or "default" is the default
	// profile. It is not taken from the source, which a sender can influence.
	Profile string
	// SharedGroups is group_sessions_per_user: false, that is, one session
	// for everybody in a group.
	SharedGroups bool
	// PerUserThreads is thread_sessions_per_user: true, that is, a session for
	// each participant of a thread.
	PerUserThreads bool
	// Aliases lists the other ids of a canonical WhatsApp id, from the
	// phone/LID table; nil when there is no table.
	Aliases func(id string) []string
}

// Key names the conversation a message belongs to. It never fails: what is
// missing is left out, by the rule the connector follows too.
//
// Implements, G-117.
func Key(s Source, o Options) string {
	platform, chatType := orDefault(s.Platform, PlatformRelay), orDefault(s.ChatType, TypeDM)
	dm := chatType == TypeDM

	thread := s.ThreadID
	if thread == "" && !dm && s.ProspectiveThreadID != "" {
		thread, chatType = s.ProspectiveThreadID, TypeThread
	}
	chat, participant := s.ChatID, orDefault(s.UserIDAlt, s.UserID)
	if platform == platformWhatsApp {
		participant = canonicalWhatsApp(participant, o.Aliases)
		if dm {
			chat = canonicalWhatsApp(chat, o.Aliases)
		}
	}
	scope := ""
	if platform == platformSlack {
		scope = s.ScopeID
	}
	if (dm && chat != "") || (!dm && (o.SharedGroups || (thread != "" && !o.PerUserThreads))) {
		participant = ""
	}
	first, second := thread, participant
	if dm {
		first, second = participant, thread
	}
	key := Namespace(o.Profile) + ":" + platform + ":" + chatType
	for _, part := range []string{scope, chat, first, second} {
		if part != "" {
			key += ":" + part
		}
	}
	return key
}

// Namespace is the part of a key that keeps profiles apart.
//
// Implements G-117.
func Namespace(profile string) string {
	switch profile {
	case "", defaultProfile:
		profile = defaultNamespace
	case defaultNamespace:
		profile = reservedNamespace
	}
	return keyRoot + ":" + profile
}

// ProfileOf gives the profile of a key, the inverse of Namespace; the default
// profile is "default". ok is false for text that is no key.
//
// Implements G-117.
func ProfileOf(key string) (profile string, ok bool) {
	rest, ok := strings.CutPrefix(key, keyRoot+":")
	if !ok {
		return "", false
	}
	name, rest, ok := strings.Cut(rest, ":")
	switch {
	case !ok || name == "" || rest == "":
		return "", false
	case name == defaultNamespace:
		return defaultProfile, true
	case name == reservedNamespace:
		return defaultNamespace, true
	}
	return name, true
}

// canonicalWhatsApp reduces the forms of a WhatsApp id ("+1555:3@s.whatsapp.net")
// to the number, and where an alias table knows the person to the shortest,
// then smallest, of the ids.
func canonicalWhatsApp(id string, aliases func(string) []string) string {
	id = bareWhatsApp(id)
	if id == "" || aliases == nil {
		return id
	}
	for _, alias := range aliases(id) {
		if alias = bareWhatsApp(alias); alias != "" && (len(alias) < len(id) || (len(alias) == len(id) && alias < id)) {
			id = alias
		}
	}
	return id
}

func bareWhatsApp(id string) string {
	id = strings.Replace(strings.TrimSpace(id), "+", "", 1)
	id, _, _ = strings.Cut(id, ":")
	id, _, _ = strings.Cut(id, "@")
	return id
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
