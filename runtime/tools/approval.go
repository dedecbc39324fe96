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
	// Subject is the command, or what else the tool's calls are told apart by.
	Tool, Subject string
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
		if r.Matches(q.Tool, q.Subject) {
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
	approvals *Approvals

	mu       sync.Mutex
	sessions map[string]map[covered]bool
	order    []string
}

func newMemory(a *Approvals) *memory {
	return &memory{approvals: a, sessions: map[string]map[covered]bool{}}
}

// covered is what a decision is remembered for: a tool, or one subject of it.
type covered struct{ tool, subject string }

func (m *memory) has(session string, c covered) bool {
	m.mu.Lock()
	ok := m.sessions[session][c]
	m.mu.Unlock()
	return ok || m.approvals.has(c.tool, c.subject)
}

// add remembers a decision. One for always that cannot be kept holds for the session.
func (m *memory) add(session string, c covered, d Decision) error {
	var err error
	if d == DecisionAlways {
		if err = m.approvals.Add(c.tool, c.subject); err == nil {
			return nil
		}
		d = DecisionSession
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch d {
	case DecisionSession:
		if m.sessions[session] == nil {
			if len(m.order) >= maxRemembered {
				delete(m.sessions, m.order[0])
				m.order = m.order[1:]
			}
			m.sessions[session] = map[covered]bool{}
			m.order = append(m.order, session)
		}
		m.sessions[session][c] = true
	}
	return err
}

// approve returns nil when the call may run, otherwise the reason for the model.
func (s *Set) approve(ctx context.Context, e *entry, c Call, p Plan) error {
	if p.Subject == "" {
		p.Subject = p.Command
	}
	what, sessionID, ask := covered{c.Name, p.Subject}, c.session, c.ask
	danger, dangerous := "", false
	if p.Command != "" && s.config.Mode != ModeAllow {
		danger, dangerous = Dangerous(p.Command)
	}
	q := Question{Tool: c.Name, Subject: p.Subject, ReadOnly: p.ReadOnly || p.Unasked, Dangerous: dangerous, Remembered: s.memory.has(sessionID, what)}
	verdict := Decide(s.config.Mode, s.rules, q)
	if verdict == VerdictAllow {
		return nil
	}
	reason, covers := c.Name+" needs approval", e.approval()
	if dangerous {
		// Nothing remembers a dangerous command, so no answer covers more than this call.
		reason, covers = "dangerous command: "+danger, ""
	}
	if verdict == VerdictDeny {
		return fmt.Errorf("denied: %s, and this profile's approvals.mode is Deny; add an allow rule to approvals.allow to permit it", reason)
	}
	if ask == nil {
		return fmt.Errorf("denied: %s, and nobody is present in this session to give it; add an allow rule to approvals.allow to permit it unattended", reason)
	}
	d, err := ask(ctx, ApprovalRequest{SessionID: sessionID, CallID: c.ID, Tool: c.Name, Summary: p.Summary, Reason: reason, Command: p.Command, Covers: covers})
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("denied: %s, and nobody answered in time", reason)
	case ctx.Err() != nil:
		// Whoever stops a turn at the question has said nothing about the call.
		return errors.New("interrupted: the turn was stopped before this call was approved; it did not run")
	case err != nil:
		return fmt.Errorf("denied: %s, and asking did not work: %w", reason, err)
	case d == DecisionOnce, dangerous && d != DecisionDeny && d.valid():
		return nil
	case d == DecisionSession, d == DecisionAlways:
		if err := s.memory.add(sessionID, what, d); err != nil {
			s.config.Log.Error(err, "an approval for always holds for this session only", "tool", c.Name)
		}
		return nil
	}
	return errors.New("denied by the user; do not try it again another way unless they ask for it")
}
