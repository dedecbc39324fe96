package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hermes.dev/hermes/runtime/localapi"
)

// answer puts a question of the agent before the person: the number of an option, or any text. An empty line, and the
// end of input, decline. Ctrl-C interrupts the turn and is no answer.
func (c *Chat) answer(ctx context.Context, r Display, e localapi.Event) {
	decision := localapi.Decision{Decision: "nobody"}
	if c.Lines == nil && c.Inquire == nil {
		r.Note("not answered, because nobody can be asked here: " + visible(e.Question))
	} else {
		r.Break()
		line, ok := c.inquire(ctx, e)
		if !ok {
			return // the turn ends, and its question with it
		}
		decision = answerOf(line, e.Options)
	}
	if err := c.Client.Answer(ctx, c.Target.Profile, e.Session, e.CallID, decision); err != nil && ctx.Err() == nil {
		r.Note("! the answer did not arrive: " + visible(err.Error()))
	}
}

// Inquiry is a question of the agent, in harmless text.
type Inquiry struct {
	Profile, Text string
	// Options are answers to choose from by their number, beginning with 1.
	Options []string
}

// inquire gets a line; ok is false when Ctrl-C interrupted the turn.
func (c *Chat) inquire(ctx context.Context, e localapi.Event) (line string, ok bool) {
	if c.Inquire != nil {
		q := Inquiry{Profile: c.Target.Profile, Text: visible(e.Question)}
		for _, option := range e.Options {
			q.Options = append(q.Options, visible(option))
		}
		return c.Inquire(ctx, q)
	}
	fmt.Fprintf(c.Notes, "? %s asks: %s\n", c.Target.Profile, visible(e.Question))
	for i, option := range e.Options {
		fmt.Fprintf(c.Notes, "    %d  %s\n", i+1, visible(option))
	}
	prompt := "  your answer (empty: none): "
	if len(e.Options) > 0 {
		prompt = "  a number, or your own words (empty: none): "
	}
	line, err := c.Lines.Ask(ctx, prompt)
	if err == errInterrupt {
		c.interrupt()
		return "", false
	}
	return line, true
}

// answerOf reads a line: the number of an option stands for it.
func answerOf(line string, options []string) localapi.Decision {
	line = strings.TrimSpace(line)
	if line == "" {
		return localapi.Decision{Decision: deny}
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		line = options[n-1]
	}
	return localapi.Decision{Decision: "answer", Answer: line}
}
