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
func (c *Chat) answer(ctx context.Context, r *renderer, e localapi.Event) {
	decision := localapi.Decision{Decision: "nobody"}
	if c.Lines == nil {
		r.note("not answered, because nobody can be asked here: %s", visible(e.Question))
	} else {
		r.newline()
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
			return
		}
		decision = answerOf(line, e.Options)
	}
	if err := c.Client.Answer(ctx, c.Target.Profile, e.Session, e.CallID, decision); err != nil && ctx.Err() == nil {
		r.note("! the answer did not arrive: %s", visible(err.Error()))
	}
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
