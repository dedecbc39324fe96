package chat

import (
	"context"
	"fmt"
	"strings"

	"hermes.dev/hermes/runtime/localapi"
)

// Decisions as the API names them.
const (
	once   = "once"
	deny   = "deny"
	always = "always"
)

// approve answers the question of a tool call: by --yes, by a person, or with no.
func (c *Chat) approve(ctx context.Context, r Display, e localapi.Event) {
	decision := "nobody"
	switch {
	case c.Yes:
		decision = once
		r.Note("approved by --yes: " + visible(subject(e)))
	case c.Lines == nil && c.Decide == nil:
		r.Note(fmt.Sprintf("denied, because nobody can be asked here: %s (%s)", visible(subject(e)), visible(e.Reason)))
		r.Note("  run it on a terminal, pass --yes, or add a rule to spec.approvals.allow of profile " + c.Target.Profile)
	default:
		r.Break()
		if decision = c.decide(ctx, e); decision == "" {
			return // the turn ends, and its question with it
		}
	}
	if err := c.Client.Decide(ctx, c.Target.Profile, e.Session, e.CallID, decision); err != nil && ctx.Err() == nil {
		r.Note("! the answer did not arrive: " + visible(err.Error()))
	}
}

// Question is a call that needs approval, in harmless text.
type Question struct {
	Profile, Tool, Reason string
	// Subject is the whole of what would run.
	Subject string
	// Covers says what "always" is about; "" when an answer is about this call only.
	Covers string
}

// decide gets a decision; "" when the turn ends, and its question with it.
func (c *Chat) decide(ctx context.Context, e localapi.Event) string {
	if c.Decide == nil {
		return c.ask(ctx, e)
	}
	return c.Decide(ctx, Question{
		Profile: c.Target.Profile, Tool: visible(e.Tool), Reason: visible(e.Reason), Subject: visible(subject(e)), Covers: visible(e.Covers),
	})
}

// ask shows the whole of what would run and waits for a decision. The end of input denies. Ctrl-C interrupts the turn
// and is no decision: then it returns "".
func (c *Chat) ask(ctx context.Context, e localapi.Event) string {
	fmt.Fprintf(c.Notes, "? %s wants to run (%s):\n", c.Target.Profile, visible(e.Reason))
	for line := range strings.SplitSeq(visible(subject(e)), "\n") {
		fmt.Fprintf(c.Notes, "    %s\n", line)
	}
	choices := "  [o]nce  [d]eny: "
	if e.Covers != "" {
		choices = "  [o]nce  [s]ession  [a]lways (" + visible(e.Covers) + ")  [d]eny: "
	}
	for {
		line, err := c.Lines.Ask(ctx, choices)
		if err != nil {
			if err == errInterrupt {
				c.interrupt()
				return ""
			}
			return deny
		}
		if d, ok := decisionOf(line); ok && (e.Covers != "" || d == once || d == deny) {
			return d
		}
		if e.Covers == "" {
			fmt.Fprintln(c.Notes, "  please answer o or d: this is asked about every time")
			continue
		}
		fmt.Fprintln(c.Notes, "  please answer o, s, a or d; hermes tools revoke takes an always back")
	}
}

func decisionOf(line string) (string, bool) {
	answer := strings.ToLower(strings.TrimSpace(line))
	for _, d := range []string{once, "session", always, deny} {
		if answer != "" && (answer == d || answer == d[:1]) {
			return d, true
		}
	}
	return "", false
}

// subject is what a question is about: the whole command, or what the tool says it does.
func subject(e localapi.Event) string {
	if e.Command != "" {
		return e.Command
	}
	if e.Summary != "" {
		return e.Summary
	}
	return e.Tool
}
