package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"hermes.dev/hermes/runtime/localapi"
)

// errNothingSaid is the answer to a command about a session that has not begun.
var errNothingSaid = errors.New("nothing was said yet")

// title shows the title of the session, or gives it one that the agent does not replace.
func (c *Chat) title(ctx context.Context, title string) error {
	if c.Session == "" {
		return errNothingSaid
	}
	if title == "" {
		s, err := c.Client.SessionHead(ctx, c.Target.Profile, c.Session)
		switch {
		case notStored(err):
			return errNothingSaid
		case err != nil:
			return err
		case s.Title == "":
			fmt.Fprintln(c.Notes, "this session has no title yet: /title TITLE gives it one")
		default:
			fmt.Fprintln(c.Notes, visible(s.Title))
		}
		return nil
	}
	stored, err := c.Client.Rename(ctx, c.Target.Profile, c.Session, title)
	if notStored(err) {
		return errNothingSaid
	}
	if err == nil {
		fmt.Fprintf(c.Notes, "this session is called %s\n", visible(stored))
	}
	return err
}

func notStored(err error) bool {
	var e *localapi.Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.Code != "unknown_path"
}

// plainName is a model's name that needs no quoting in the command that is shown.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`)

// modelCommand says which model answers. It is declared in the Profile; a session does not choose its own.
func (c *Chat) modelCommand(ctx context.Context, name string) error {
	if name == "" {
		model := c.model
		if c.Session != "" && model == "" {
			s, err := c.Client.SessionHead(ctx, c.Target.Profile, c.Session)
			if err != nil && !notStored(err) {
				return err
			}
			model = s.Model
		}
		if model == "" {
			fmt.Fprintln(c.Notes, "nothing has answered in this session yet")
		} else {
			fmt.Fprintf(c.Notes, "answered by %s\n", visible(model))
		}
		name = "NAME"
	}
	if !plainName.MatchString(name) {
		return fmt.Errorf("%q is no name of a model", name)
	}
	fmt.Fprintf(c.Notes, "the model is declared in the Profile and changes for all of its sessions, within a second:\n"+
		"  kubectl patch hprof %s --type merge -p '{\"spec\":{\"model\":{\"name\":\"%s\"}}}'\n", visible(c.Target.Profile), name)
	return nil
}

// steer is about a turn that runs; where a person can type only between turns there is none.
func (c *Chat) steer(context.Context, string) error {
	return errors.New("no turn is running: say it as a message")
}
