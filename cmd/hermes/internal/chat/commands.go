package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hermes.dev/hermes/runtime/localapi"
)

// Command is one of the commands that begin with a slash.
type Command struct {
	// Name with its slash, and what comes after it: "" is nothing.
	Name, Argument string
	Help           string
	run            func(*Chat, context.Context, string) error
}

// errQuit ends the conversation.
var errQuit = errors.New("quit")

// Commands lists them in the order of the help.
func Commands() []Command {
	plain := func(run func(*Chat, context.Context) error) func(*Chat, context.Context, string) error {
		return func(c *Chat, ctx context.Context, _ string) error { return run(c, ctx) }
	}
	return []Command{
		{"/new", "", "begin a new session; the one before ends", plain((*Chat).newSession)},
		{"/resume", "[SESSION]", "go on with a session; a turn that was not finished is finished first", (*Chat).resumeCommand},
		{"/sessions", "", "list the sessions of this profile", plain((*Chat).listSessions)},
		{"/title", "[TITLE]", "show the title of this session, or give it one", (*Chat).title},
		{"/model", "", "which model answers, and how to change it", (*Chat).modelCommand},
		{"/steer", "TEXT", "say something to the turn that runs", (*Chat).steer},
		{"/undo", "", "take back what you said last, and everything after it", plain((*Chat).undoCommand)},
		{"/retry", "", "say it again", plain((*Chat).retry)},
		{"/compress", "[FOCUS]", "summarise the earlier part of this session; words after it say what to keep", (*Chat).compress},
		{"/usage", "", "what this session has consumed", plain((*Chat).usage)},
		{"/help", "", "this list", plain((*Chat).help)},
		{"/quit", "", "leave", func(*Chat, context.Context, string) error { return errQuit }},
	}
}

// others are names under which people look for a command.
var others = map[string]string{"/exit": "/quit", "/compact": "/compress"}

func (c *Chat) help(context.Context) error {
	var b strings.Builder
	for _, command := range Commands() {
		fmt.Fprintf(&b, "  %-20s %s\n", strings.TrimSpace(command.Name+" "+command.Argument), command.Help)
	}
	b.WriteString("A line that ends in \\ goes on in the next one. Ctrl-C interrupts a reply.\n")
	_, err := io.WriteString(c.Notes, b.String())
	return err
}

// command runs one of the commands and reports whether to leave.
func (c *Chat) command(ctx context.Context, text string) (quit bool) {
	name, argument, _ := strings.Cut(text, " ")
	if other, ok := others[name]; ok {
		name = other
	}
	err := fmt.Errorf("there is no command %s: /help lists them", visible(name))
	for _, command := range Commands() {
		if command.Name == name {
			err = command.run(c, ctx, strings.TrimSpace(argument))
		}
	}
	if errors.Is(err, errQuit) {
		return true
	}
	if err != nil {
		fmt.Fprintf(c.Notes, "! %s\n", visible(c.older(err, name).Error()))
	}
	return false
}

// older words the answer of a gateway that was started before the command was made.
func (c *Chat) older(err error, command string) error {
	var e *localapi.Error
	if !errors.As(err, &e) || e.Code != "unknown_path" {
		return err
	}
	restart := "hermes gateway restart"
	if c.Target.Gateway != "" {
		restart += " " + c.Target.Gateway
	}
	return fmt.Errorf("the gateway is older than this program and does not know %s: %s replaces it", command, restart)
}
