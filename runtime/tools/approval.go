package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Verdict is what the approval step decides about one call.
type Verdict int

const (
	// VerdictDeny refuses without asking.
	VerdictDeny Verdict = iota
	// VerdictAsk asks the session's person.
	VerdictAsk
	// VerdictAllow runs the call.
	VerdictAllow
)

// Question is a call as Decide sees it.
type Question struct {
	Tool, Command string
	// ReadOnly is a read below the workspace or a declared root.
	ReadOnly bool
	// Dangerous is a command on the list of Dangerous.
	Dangerous bool
	// Remembered is an earlier Session or Always decision for this call.
	Remembered bool
}

// Decide is the approval rule: reads pass, mode Allow passes everything, a
// dangerous command is never allowed by a rule or a memory, a rule or a memory
// allows, and what is left is asked or denied by the mode.
//
// Implements the approval step of L8.
func Decide(mode Mode, rules []Rule, q Question) Verdict {
	otherwise := VerdictAsk
	if mode == ModeDeny {
		otherwise = VerdictDeny
	}
	switch {
	case q.ReadOnly, mode == ModeAllow:
		return VerdictAllow
	case q.Dangerous:
		return otherwise
	case q.Remembered:
		return VerdictAllow
	}
	for _, r := range rules {
		if r.Matches(q.Tool, q.Command) {
			return VerdictAllow
		}
	}
	return otherwise
}

// maxRemembered bounds how many sessions' decisions are kept. The oldest is
// forgotten first, which only means that its person is asked again.
const maxRemembered = 1024

// memory keeps Session and Always decisions.
type memory struct {
	mu       sync.Mutex
	always   map[string]bool
	sessions map[string]map[string]bool
	order    []string
}

func newMemory() *memory {
	return &memory{always: map[string]bool{}, sessions: map[string]map[string]bool{}}
}

// subject is what a decision is remembered for: the tool, or one command.
func subject(tool, command string) string { return tool + "\x00" + command }

func (m *memory) has(session, subject string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.always[subject] || m.sessions[session][subject]
}

func (m *memory) add(session, subject string, d Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch d {
	case DecisionAlways:
		m.always[subject] = true
	case DecisionSession:
		if m.sessions[session] == nil {
			if len(m.order) >= maxRemembered {
				delete(m.sessions, m.order[0])
				m.order = m.order[1:]
			}
			m.sessions[session] = map[string]bool{}
			m.order = append(m.order, session)
		}
		m.sessions[session][subject] = true
	}
}

// approve returns nil when the call may run, otherwise the reason for the model.
func (s *Set) approve(ctx context.Context, sessionID string, c Call, p Plan, ask ApproveFunc) error {
	what := subject(c.Name, p.Command)
	danger, dangerous := "", false
	if p.Command != "" {
		danger, dangerous = Dangerous(p.Command)
	}
	q := Question{Tool: c.Name, Command: p.Command, ReadOnly: p.ReadOnly, Dangerous: dangerous, Remembered: s.memory.has(sessionID, what)}
	verdict := Decide(s.config.Mode, s.rules, q)
	if verdict == VerdictAllow {
		return nil
	}
	reason := c.Name + " needs approval"
	if dangerous {
		reason = "dangerous command: " + danger
	}
	if verdict == VerdictDeny {
		return fmt.Errorf("denied: %s, and this profile's approvals.mode is Deny; add an allow rule to approvals.allow to permit it", reason)
	}
	if ask == nil {
		return fmt.Errorf("denied: %s, and nobody is present in this session to give it; add an allow rule to approvals.allow to permit it unattended", reason)
	}
	d, err := ask(ctx, ApprovalRequest{SessionID: sessionID, CallID: c.ID, Tool: c.Name, Summary: p.Summary, Reason: reason, Command: p.Command})
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("denied: %s, and nobody answered in time", reason)
	case ctx.Err() != nil:
		// Whoever stops a turn at the question has said nothing about the call.
		return errors.New("interrupted: the turn was stopped before this call was approved; it did not run")
	case err != nil:
		return fmt.Errorf("denied: %s, and asking did not work: %w", reason, err)
	case d == DecisionOnce, d == DecisionSession, d == DecisionAlways:
		s.memory.add(sessionID, what, d)
		return nil
	}
	return errors.New("denied by the user; do not try it again another way unless they ask for it")
}
