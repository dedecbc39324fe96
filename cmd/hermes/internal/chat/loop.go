package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Loop talks until the person leaves.
func (c *Chat) Loop(ctx context.Context) error {
	fmt.Fprintf(c.Notes, "Talking with %s. /help lists commands, /quit or Ctrl-D leaves.\n", visible(c.Target.Profile))
	switch {
	case c.Session != "":
		if err := c.resume(ctx, c.Session); err != nil {
			return err
		}
	case c.Choose:
		if err := c.resumeCommand(ctx, ""); err != nil {
			return err
		}
	}
	defer c.unfollow()
	left := false // Ctrl-C was pressed on an empty line
	for {
		c.follow(ctx)
		text, err := c.read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errInterrupt) && left:
			return nil
		case errors.Is(err, errInterrupt):
			left = true
			fmt.Fprintln(c.Notes, "Ctrl-C again, or /quit, leaves.")
			continue
		case err != nil:
			return err
		}
		left = false
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if lower := strings.ToLower(text); lower == "quit" || lower == "exit" {
			return nil // what people type who want to leave; a message of that one word alone is none
		}
		if strings.HasPrefix(text, "/") && !strings.Contains(text, "\n") {
			if quit := c.command(ctx, text); quit {
				return nil
			}
			continue
		}
		if c.begin() == nil {
			c.follow(ctx) // from before its first turn on, so that nothing is missed
		}
		c.say(ctx, text, false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.leave {
			return nil
		}
	}
}

// say runs one turn and shows how it failed, if it did. What another client said to the turn and found no place in it
// is said next.
func (c *Chat) say(ctx context.Context, text string, resume bool) {
	for {
		a, err := c.Once(ctx, text, resume)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(c.Notes, "! %s\n", err)
		}
		if a.PendingSteer == "" || err != nil {
			return
		}
		text, resume = a.PendingSteer, false
		fmt.Fprintf(c.Notes, "› %s\n", visible(text))
	}
}

// read collects the lines of one message.
func (c *Chat) read(ctx context.Context) (string, error) {
	var text strings.Builder
	prompt := "› "
	for {
		line, more, err := c.Lines.Read(ctx, prompt)
		if err != nil {
			return "", err
		}
		text.WriteString(line)
		if !more {
			return text.String(), nil
		}
		text.WriteByte('\n')
		prompt = "… "
	}
}
