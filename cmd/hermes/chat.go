package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hermes.dev/hermes/cmd/hermes/internal/chat/screen"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/cmd/hermes/internal/signals"
	"hermes.dev/hermes/runtime/localapi"
)

// maxQuery bounds what is read from standard input, in bytes; the API takes 8 MiB in all.
const maxQuery = 4 << 20

type chatFlags struct {
	reach.Flags
	query, session, output string
	latest, resume, yes    bool
	plain                  bool
}

func newChat(c *cli) *cobra.Command {
	var f chatFlags
	command := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a profile",
		Long: `Talk with a profile through its gateway, or say one thing with -q and print the reply.

On a terminal the reply is shown as it is written. Into a pipe or a file only the final reply goes; what tools do
and what needs approval goes to standard error. A call that needs approval is asked about on a terminal and denied
elsewhere, unless --yes allows it.

In a conversation /help lists commands, Alt-Enter or a backslash at its end continues a line, and Ctrl-C interrupts a
reply. What is finished stays in the terminal's scrollback. --plain only ever adds lines at the end, for screen readers
and simple terminals; TERM=dumb does the same.`,
		Example: `  hermes chat
  hermes chat -p alice -q "what is on my list today?"
  git diff | hermes chat -p reviewer -q -
  hermes chat --continue
  hermes chat --resume`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.chat(cmd.Context(), cmd, f) },
	}
	flags := command.Flags()
	f.Register(flags)
	flags.StringVarP(&f.query, "query", "q", "", "say this, print the reply and leave; - reads it from standard input")
	flags.StringVar(&f.session, "session", "", "go on with this session")
	flags.BoolVarP(&f.latest, "continue", "c", false, "go on with the newest session that began here")
	flags.BoolVar(&f.resume, "resume", false, "choose the session to go on with; of a named one, finish the interrupted turn, print the reply and leave")
	flags.BoolVar(&f.plain, "plain", false, "show lines only, without a region that changes")
	flags.StringVarP(&f.output, "output", "o", "", "json: one object with session, reply, usage, model_calls, tool_calls and error")
	flags.BoolVarP(&f.yes, "yes", "y", false, "allow every call that needs approval, once each")
	return command
}

// check finds a wrong command line before anything is asked of anybody.
func (f chatFlags) check(cmd *cobra.Command) error {
	once := f.resume && !f.chooses() || cmd.Flags().Changed("query")
	switch {
	case f.output != "" && f.output != "json":
		return exit.Usagef("-o %s: use json, or leave it out", f.output)
	case f.output == "json" && !once:
		return exit.Usagef("-o json shows one turn: say what with -q")
	case f.session != "" && f.latest:
		return exit.Usagef("--session names a session and --continue takes the newest: use one of them")
	case f.resume && cmd.Flags().Changed("query"):
		return exit.Usagef("--resume finishes what was said before: leave -q out")
	case cmd.Flags().Changed("query") && strings.TrimSpace(f.query) == "":
		return exit.Usagef("-q needs a text, or - for standard input")
	}
	return nil
}

// chooses reports whether the person is to choose a session.
func (f chatFlags) chooses() bool { return f.resume && f.session == "" && !f.latest }

func (c *cli) chat(ctx context.Context, cmd *cobra.Command, f chatFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	once := f.resume && !f.chooses() || f.query != ""
	if f.chooses() && !c.hasScreen(f) {
		return exit.Usagef("--resume finishes the turn of a session: name it with --session, or add --continue; without them it lets you choose on a terminal")
	}
	if !once && !isTerminal(c.in) {
		return exit.Usagef("standard input is not a terminal: say something with -q TEXT, or -q - to read it")
	}
	query, err := c.query(f.query)
	if err != nil {
		return err
	}
	target, err := c.finder().Find(ctx, f.Flags, reach.Need{Ready: true})
	if err != nil {
		return err
	}
	client := localapi.NewClient(target.Socket, target.Gateway)
	client.Patience = restartPatience
	defer client.Close()
	talk := c.newChatWith(client, target, f)
	// Ctrl-C belongs to the turn here; only what else ends the program ends the context.
	ctx, interrupts, stop := withoutInterrupt(ctx)
	defer stop()
	talk.Interrupts = interrupts
	if err := talk.Find(ctx, f.session, f.latest); err != nil {
		return err
	}
	if !once && c.hasScreen(f) {
		talk.Choose = f.chooses()
		return quietly(screen.Run(ctx, talk, c.screenOptions(target, interrupts)))
	}
	if !once {
		return quietly(talk.Loop(ctx))
	}
	answer, err := talk.Once(ctx, query, f.resume)
	if f.output != "json" {
		return err
	}
	if answer.Session == "" {
		return err
	}
	encoder := json.NewEncoder(c.out)
	if printed := encoder.Encode(answer); printed != nil {
		return fmt.Errorf("print the answer: %w", printed)
	}
	if err != nil {
		return exit.Silent(exit.Code(err))
	}
	return nil
}

// query is the text of -q.
func (c *cli) query(flag string) (string, error) {
	if flag != "-" {
		return flag, nil
	}
	raw, err := io.ReadAll(io.LimitReader(c.in, maxQuery+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(raw) > maxQuery:
		return "", fmt.Errorf("standard input is larger than %d MiB: give the agent a file to read instead", maxQuery>>20)
	case strings.TrimSpace(string(raw)) == "":
		return "", exit.Usagef("-q - read nothing from standard input")
	}
	return string(raw), nil
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// withoutInterrupt gives a context that Ctrl-C does not end, and Ctrl-C on a channel.
func withoutInterrupt(parent context.Context) (context.Context, <-chan os.Signal, func()) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	ctx, stop := signals.Once(context.WithoutCancel(parent), syscall.SIGTERM, syscall.SIGHUP)
	return ctx, interrupts, func() {
		stop()
		signal.Stop(interrupts)
	}
}

// quietly is an error without the one that says that the program was told to end.
func quietly(err error) error {
	if errors.Is(err, context.Canceled) {
		return exit.Silent(exit.Failed)
	}
	return err
}
