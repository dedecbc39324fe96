package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/chat/screen"
	"hermes.dev/hermes/runtime/localapi"
)

func (c *cli) newChatWith(client *localapi.Client, target chat.Target, f chatFlags) *chat.Chat {
	shown := c.terminal()
	talk := &chat.Chat{
		Client: client, Target: target, Yes: f.yes, Clock: c.clock,
		Out: c.out, Notes: c.err, Live: isTerminal(c.out) && f.output != "json", Color: shown.Color && isTerminal(c.err),
	}
	if out, ok := c.out.(*os.File); ok && talk.Live {
		talk.Width = func() int {
			width, _, err := term.GetSize(int(out.Fd()))
			if err != nil {
				return 0
			}
			return width
		}
	}
	if f.output == "json" {
		talk.Out = io.Discard
	}
	if in, ok := c.in.(*os.File); ok && isTerminal(c.in) && isTerminal(c.err) {
		talk.Lines = chat.NewTerminalLines(in, c.err)
	}
	return talk
}

// hasScreen reports whether there is a terminal of which a part can be drawn over again.
func (c *cli) hasScreen(f chatFlags) bool {
	kind := c.getenv("TERM")
	return !f.plain && kind != "" && kind != "dumb" && isTerminal(c.in) && isTerminal(c.out)
}

// screenOptions are those of this terminal.
func (c *cli) screenOptions(target chat.Target, interrupts <-chan os.Signal) screen.Options {
	shown := c.terminal()
	o := screen.Options{In: c.in, Out: c.out, Color: shown.Color, ASCII: shown.ASCII, Interrupts: interrupts, Clock: c.clock}
	// What a program of its kind asks the environment; nothing else of it is looked at.
	for _, name := range []string{"TERM", "TERM_PROGRAM", "COLORTERM", "SSH_TTY", "WT_SESSION", "TMUX"} {
		if value := c.getenv(name); value != "" {
			o.Environment = append(o.Environment, name+"="+value)
		}
	}
	// Without a data directory of ours, or with a name that is no name of a file, nothing is remembered.
	if data, err := c.dataDir(); err == nil && !strings.ContainsAny(target.Profile, "/\\") && !strings.HasPrefix(target.Profile, ".") {
		namespace := c.namespace
		if namespace == "" {
			namespace = "default"
		}
		o.History = data.ChatHistory(namespace, target.Profile)
	}
	return o
}
