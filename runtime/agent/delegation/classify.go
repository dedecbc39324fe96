package delegation

import "hermes.dev/hermes/runtime/session"

// Verdict is what becomes of a completion whose parent session was looked at.
type Verdict string

const (
	// Deliver hands it to the session that Resolve names.
	Deliver Verdict = "deliver"
	// Retry leaves it for a later attempt.
	Retry Verdict = "retry"
	// Terminal drops it: nobody is there any more whom it concerns.
	Terminal Verdict = "terminal"
)

// Parent is what a lookup showed of the session that delegated.
type Parent struct {
	// Unreadable says that the store could not be asked.
	Unreadable bool
	// Missing says that there is no such session.
	Missing bool
	// Ended says that it ended, and Reason why.
	Ended  bool
	Reason session.EndReason
	// Tip is where the conversation goes on after an end by compression.
	Tip Tip
}

// Tip is the newest session of a conversation that compression took from session to session. The zero value is a tip
// that was not found.
type Tip struct {
	ID         string
	Unreadable bool
	// Same says that it is the parent itself.
	Same  bool
	Ended bool
}

func (t Tip) live() bool { return t.ID != "" && !t.Unreadable && !t.Same && !t.Ended }

// Classify decides about a completion by its parent session.
//
// Implements S-220.
func Classify(p Parent) Verdict {
	switch {
	case p.Unreadable:
		return Retry
	case p.Missing:
		return Terminal
	case !p.Ended:
		return Deliver
	case p.Reason.UserBoundary():
		return Terminal
	case p.Reason == session.EndCompression && !p.Tip.live():
		return Retry
	}
	return Deliver
}

// Resolve names the session that a completion goes to: pinned is the parent itself, current the session that its chat
// is in now, "" when it has no chat or none is open. It is "" when there is none to go to, which cannot be after the
// verdict Deliver: a chat without a current session is continued in the pinned one.
//
// Implements S-221.
func Resolve(p Parent, pinned, current string) string {
	switch {
	case p.Unreadable || p.Missing || p.Ended && p.Reason.UserBoundary():
		return ""
	case !p.Ended:
		return pinned
	case p.Reason == session.EndCompression && p.Tip.live():
		return p.Tip.ID
	case p.Reason == session.EndCompression:
		return ""
	case current != "":
		return current
	}
	return pinned
}

// Guard replaces a live pin that the route does not own by the chat's current session: a delegate's child, or a session
// of another key, must not become what a chat is routed to.
//
// Implements S-222.
func Guard(pinned, current string, child bool, pinKey, routeKey string) string {
	if (child || pinKey != routeKey) && current != "" {
		return current
	}
	return pinned
}
