package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"

	"hermes.dev/hermes/runtime/localapi"
)

// newSession ends the session in use and begins its child. One that was never stored has nothing to end.
func (c *Chat) newSession(ctx context.Context) error {
	if c.Session != "" {
		next, err := c.Client.BeginSession(ctx, c.Target.Profile, localapi.BeginSession{From: c.Session})
		var e *localapi.Error
		if err != nil && (!errors.As(err, &e) || e.Status != http.StatusNotFound) {
			return err
		}
		c.Session = next.ID
	}
	fmt.Fprintln(c.Notes, "a new session begins with what you say next")
	return nil
}

// undo takes back what was said last and shows it.
func (c *Chat) undo(ctx context.Context) (text string, err error) {
	if c.Session == "" {
		return "", errors.New("nothing was said yet")
	}
	undone, err := c.Client.Undo(ctx, c.Target.Profile, c.Session)
	if err == nil {
		fmt.Fprintf(c.Notes, "taken back: %s\n", brief(undone.Text, maxNote))
	}
	return undone.Text, err
}

func (c *Chat) undoCommand(ctx context.Context) error {
	_, err := c.undo(ctx)
	return err
}

// retry says again what was said last.
func (c *Chat) retry(ctx context.Context) error {
	text, err := c.undo(ctx)
	if err == nil {
		c.say(ctx, text, false)
	}
	return err
}

// usage shows what the session has consumed, by model and task.
func (c *Chat) usage(ctx context.Context) error {
	if c.Session == "" {
		return errors.New("nothing was said yet")
	}
	u, err := c.Client.Usage(ctx, c.Target.Profile, c.Session)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.Notes, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tFOR\tCALLS\tINPUT\tCACHED\tOUTPUT")
	u.Total.Model, u.Total.Task = "total", "everything"
	for _, part := range append(u.Parts, u.Total) {
		if part.Task == "" {
			part.Task = "conversation"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", visible(part.Model), visible(part.Task), part.Calls, part.InputTokens, part.CacheReadTokens, part.OutputTokens)
	}
	return w.Flush()
}
