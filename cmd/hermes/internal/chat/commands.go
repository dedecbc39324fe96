package chat

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hermes.dev/hermes/runtime/localapi"
)

const help = `  /new          begin a new session; the one before ends
  /undo         take back what you said last, and everything after it
  /retry        say it again
  /usage        what this session has consumed
  /sessions     list the sessions of this profile
  /resume ID    go on with a session; a turn that was not finished is finished first
  /compress     summarise the earlier part of this session; words after it say what to keep
  /quit         leave
A line that ends in \ goes on in the next one. Ctrl-C interrupts a reply.
`

// command runs one of the commands that begin with a slash and reports whether to leave.
func (c *Chat) command(ctx context.Context, text string) (quit bool) {
	name, argument, _ := strings.Cut(text, " ")
	argument = strings.TrimSpace(argument)
	var err error
	switch name {
	case "/quit", "/exit":
		return true
	case "/help":
		_, err = io.WriteString(c.Notes, help)
	case "/new":
		err = c.newSession(ctx)
	case "/undo":
		_, err = c.undo(ctx)
	case "/retry":
		err = c.retry(ctx)
	case "/usage":
		err = c.usage(ctx)
	case "/sessions":
		err = c.listSessions(ctx)
	case "/compress", "/compact":
		err = c.compress(ctx, argument)
	case "/resume":
		if argument == "" {
			err = fmt.Errorf("which session? /sessions lists them")
			break
		}
		err = c.resume(ctx, argument)
	default:
		err = fmt.Errorf("there is no command %s: /help lists them", visible(name))
	}
	if err != nil {
		fmt.Fprintf(c.Notes, "! %s\n", visible(err.Error()))
	}
	return false
}

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
		mark, at := " ", s.LastActivityAt
		if s.ID == c.Session {
			mark = "*"
		}
		if at.IsZero() {
			at = s.StartedAt
		}
		name := s.Title
		if name == "" {
			name = s.Preview
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%d messages\t%s\n", mark, visible(s.ID), at.Local().Format("2006-01-02 15:04"), visible(s.Source), s.Messages, brief(name, 40))
	}
	return w.Flush()
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
