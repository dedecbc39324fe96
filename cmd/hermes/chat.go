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

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/localapi"
)

// maxQuery bounds what is read from standard input, in bytes; the API takes 8 MiB in all.
const maxQuery = 4 << 20

type chatFlags struct {
	profile, query, session, output, socket string
	latest, resume, yes                     bool
}

func newChat(c *cli) *cobra.Command {
	var f chatFlags
	command := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a profile",
		Long: `Talk with a profile through its gateway, or say one thing with -q and print the reply.

On a terminal the reply is shown as it is written. Into a pipe or a file only the final reply goes; what tools do
and what needs approval goes to standard error. A call that needs approval is asked about on a terminal and denied
elsewhere, unless --yes allows it.`,
		Example: `  hermes chat
  hermes chat -p alice -q "what is on my list today?"
  git diff | hermes chat -p reviewer -q -
  hermes chat --continue`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.chat(cmd.Context(), cmd, f) },
	}
	flags := command.Flags()
	flags.StringVarP(&f.profile, "profile", "p", "", "profile to talk with (default: the only one, or the one named default)")
	flags.StringVarP(&f.query, "query", "q", "", "say this, print the reply and leave; - reads it from standard input")
	flags.StringVar(&f.session, "session", "", "go on with this session")
	flags.BoolVarP(&f.latest, "continue", "c", false, "go on with the newest session that began here")
	flags.BoolVar(&f.resume, "resume", false, "finish the session's interrupted turn, print the reply and leave")
	flags.StringVarP(&f.output, "output", "o", "", "json: one object with session, reply, usage, model_calls, tool_calls and error")
	flags.StringVar(&f.socket, "socket", "", "API socket of a gateway, instead of looking it up")
	flags.BoolVarP(&f.yes, "yes", "y", false, "allow every call that needs approval, once each")
	return command
}

// check finds a wrong command line before anything is asked of anybody.
func (f chatFlags) check(cmd *cobra.Command) error {
	once := f.resume || cmd.Flags().Changed("query")
	switch {
	case f.output != "" && f.output != "json":
		return exit.Usagef("-o %s: use json, or leave it out", f.output)
	case f.output == "json" && !once:
		return exit.Usagef("-o json shows one turn: say what with -q")
	case f.session != "" && f.latest:
		return exit.Usagef("--session names a session and --continue takes the newest: use one of them")
	case f.resume && cmd.Flags().Changed("query"):
		return exit.Usagef("--resume finishes what was said before: leave -q out")
	case f.resume && f.session == "" && !f.latest:
		return exit.Usagef("--resume finishes the turn of a session: name it with --session, or add --continue")
	case cmd.Flags().Changed("query") && strings.TrimSpace(f.query) == "":
		return exit.Usagef("-q needs a text, or - for standard input")
	}
	return nil
}

func (c *cli) chat(ctx context.Context, cmd *cobra.Command, f chatFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	once := f.resume || f.query != ""
	if !once && !isTerminal(c.in) {
		return exit.Usagef("standard input is not a terminal: say something with -q TEXT, or -q - to read it")
	}
	query, err := c.query(f.query)
	if err != nil {
		return err
	}
	target, err := c.chatTarget(ctx, f)
	if err != nil {
		return err
	}
	client := localapi.NewClient(target.Socket, target.Gateway)
	defer client.Close()
	if target.Profile == "" {
		if target.Profile, err = chat.PickServed(ctx, client, f.profile, target.Socket); err != nil {
			return err
		}
	}
	talk := c.newChatWith(client, target, f)
	// Ctrl-C belongs to the turn here; only what else ends the program ends the context.
	ctx, interrupts, stop := withoutInterrupt(ctx)
	defer stop()
	talk.Interrupts = interrupts
	if err := talk.Find(ctx, f.session, f.latest); err != nil {
		return err
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

// chatTarget finds the socket. With --socket the control plane is not asked, and when it does not run the
// gateways of the data directory are: they go on without it.
func (c *cli) chatTarget(ctx context.Context, f chatFlags) (chat.Target, error) {
	if f.socket != "" {
		return chat.Target{Profile: "", Socket: f.socket}, nil
	}
	target, err := c.declaredTarget(ctx, f)
	var stopped *datadir.NotRunningError
	if !errors.As(err, &stopped) {
		return target, err
	}
	namespace := c.namespace
	if namespace == "" {
		namespace = "default"
	}
	target, ok, offlineErr := chat.LocateOffline(ctx, stopped.Data.Gateways(), os.TempDir(), namespace, f.profile)
	switch {
	case offlineErr != nil:
		return target, fmt.Errorf("%w (%w)", err, offlineErr)
	case !ok:
		return target, err
	}
	fmt.Fprintf(c.err, "note: the control plane of %s does not answer; gateway %s does\n", stopped.Data, target.Gateway)
	return target, nil
}

// declaredTarget asks the control plane where a profile answers.
func (c *cli) declaredTarget(ctx context.Context, f chatFlags) (chat.Target, error) {
	client, rest, namespace, err := c.api()
	if err != nil {
		return chat.Target{}, err
	}
	target, err := chat.Locate(ctx, rest, namespace, f.profile, c.clock.Now())
	return target, client.Explain(err)
}

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

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// withoutInterrupt gives a context that Ctrl-C does not end, and Ctrl-C on a channel.
func withoutInterrupt(parent context.Context) (context.Context, <-chan os.Signal, func()) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(parent), syscall.SIGTERM, syscall.SIGHUP)
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
