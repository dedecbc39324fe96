package chat

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

// maxPicked is how many sessions a person chooses among; older ones are found with hermes sessions search.
const maxPicked = 200

func (c *Chat) listSessions(ctx context.Context) error {
	list, err := c.Client.Sessions(ctx, c.Target.Profile, localapi.SessionFilter{Limit: 20})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Notes, "there are no sessions yet")
		return nil
	}
	w := tabwriter.NewWriter(c.Notes, 0, 0, 2, ' ', 0)
	for _, s := range list {
		mark := " "
		if s.ID == c.Session {
			mark = "*"
		}
		name, at := SessionName(s)
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%d messages\t%s\n", mark, visible(s.ID), at.Local().Format("2006-01-02 15:04"), visible(s.Source), s.Messages, brief(name, 40))
	}
	return w.Flush()
}

// SessionName is what a session is called, in text that may do harm, and when something happened in it.
func SessionName(s localapi.SessionInfo) (name string, at time.Time) {
	name, at = s.Title, s.LastActivityAt
	if name == "" {
		name = s.Preview
	}
	if at.IsZero() {
		at = s.StartedAt
	}
	return name, at
}

// resumeCommand goes on with the named session, or with one that the person chooses.
func (c *Chat) resumeCommand(ctx context.Context, id string) error {
	if id == "" && c.Pick == nil {
		return fmt.Errorf("which session? /sessions lists them")
	}
	if id == "" {
		var err error
		if id, err = c.pickSession(ctx); err != nil || id == "" {
			return err
		}
	}
	return c.resume(ctx, id)
}

// pickSession lets the person choose; "" is none.
func (c *Chat) pickSession(ctx context.Context) (string, error) {
	list, err := c.Client.Sessions(ctx, c.Target.Profile, localapi.SessionFilter{Limit: maxPicked})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("there are no sessions yet")
	}
	return c.Pick(ctx, list)
}

// resume goes on with a stored session. The end of it is shown, and a turn that was cut off is finished.
func (c *Chat) resume(ctx context.Context, id string) error {
	s, err := c.Client.Session(ctx, c.Target.Profile, id)
	if err != nil {
		return err
	}
	c.Session = s.ID
	fmt.Fprintf(c.Notes, "going on with session %s, %d messages\n", visible(s.ID), s.Messages)
	for _, row := range lastExchange(s.Transcript) {
		fmt.Fprintf(c.Notes, "%s: %s\n", row.Role, visible(strings.TrimSpace(row.Content)))
	}
	if s.Unfinished {
		fmt.Fprintln(c.Notes, "the last turn was not finished: finishing it")
		c.say(ctx, "", true)
	}
	return nil
}

// lastExchange is what the person said last and the text that answered it.
func lastExchange(rows []localapi.TranscriptRow) []localapi.TranscriptRow {
	var out []localapi.TranscriptRow
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Summary {
			continue
		}
		if text := strings.TrimSpace(rows[i].Content) != ""; text && (rows[i].Role == "user" || rows[i].Role == "assistant") {
			out = append([]localapi.TranscriptRow{rows[i]}, out...)
		}
		if rows[i].Role == "user" {
			break
		}
	}
	return out
}
