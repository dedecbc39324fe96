package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/sessions"
	"hermes.dev/hermes/runtime/localapi"
)

// sessionFlags are what every verb about sessions takes.
type sessionFlags struct{ profile, home, output string }

func newSessions(c *cli) *cobra.Command {
	var f sessionFlags
	command := &cobra.Command{
		Use:   "sessions",
		Short: "Find and manage the stored sessions of a profile",
		Long: `Find and manage the stored sessions of a profile.

While a gateway serves the profile everything goes through it; when none does, the store is opened here. A session
goes by its id, its title, or the beginning of its id.`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := command.PersistentFlags()
	flags.StringVarP(&f.profile, "profile", "p", "", "profile (default: the only one, or the one named default)")
	flags.StringVar(&f.home, "home", "", "home root that holds the profile, instead of asking the control plane")
	command.AddCommand(
		newSessionsList(c, &f), newSessionsShow(c, &f), newSessionsSearch(c, &f), newSessionsExport(c, &f),
		newSessionsRename(c, &f), newSessionsDelete(c, &f), newSessionsPrune(c, &f),
		newSessionsOptimize(c, &f, "optimize", "Merge the search index and give unused space back",
			`Merge the search index, and rewrite the store when a quarter of it is unused. Turns wait while it is rewritten.`),
		newSessionsOptimize(c, &f, "optimize-storage", "Bring the search index to the current layout and rewrite the store",
			`Bring the search index to the current layout, index what is missing, and rewrite the store. Turns wait while it is
rewritten. A search finds everything again once this is done.`),
	)
	return command
}

// outputFlag adds -o.
func (f *sessionFlags) outputFlag(command *cobra.Command) {
	command.Flags().StringVarP(&f.output, "output", "o", "table", "table, wide, json, yaml or name")
}

// withSessions runs fn with the sessions of the profile that is meant, and words what goes wrong.
func (c *cli) withSessions(ctx context.Context, f *sessionFlags, fn func(*sessions.Access) error) error {
	switch f.output {
	case "", "table", "wide", "json", "yaml", "name":
	default:
		return exit.Usagef("-o %s: use table, wide, json, yaml or name", f.output)
	}
	access, err := c.openSessions(ctx, f)
	if err != nil {
		return err
	}
	return errors.Join(c.sessionsError(fn(access)), access.Close())
}

func (c *cli) openSessions(ctx context.Context, f *sessionFlags) (*sessions.Access, error) {
	target, err := c.sessionsTarget(ctx, f)
	if err != nil {
		return nil, err
	}
	return sessions.Open(ctx, target, os.TempDir(), clock.RealClock{}, logr.Discard())
}

// sessionsTarget asks the control plane, and looks into the data directory when it does not run.
func (c *cli) sessionsTarget(ctx context.Context, f *sessionFlags) (sessions.Target, error) {
	if f.home != "" {
		return sessions.LocateHome(f.home, f.profile)
	}
	target, err := c.declaredSessions(ctx, f.profile)
	var stopped *datadir.NotRunningError
	if !errors.As(err, &stopped) {
		return target, err
	}
	namespace := c.namespace
	if namespace == "" {
		namespace = "default"
	}
	target, ok, offlineErr := sessions.LocateOffline(stopped.Data.Gateways(), namespace, f.profile)
	switch {
	case offlineErr != nil:
		return target, fmt.Errorf("%w (%w)", err, offlineErr)
	case !ok:
		return target, err
	}
	return target, nil
}

func (c *cli) declaredSessions(ctx context.Context, profile string) (sessions.Target, error) {
	client, rest, namespace, err := c.api()
	if err != nil {
		return sessions.Target{}, err
	}
	target, err := sessions.Locate(ctx, rest, namespace, profile)
	return target, client.Explain(err)
}

// sessionsError gives an error of the API its exit code. A refused maintenance is printed as it is: it has lines.
func (c *cli) sessionsError(err error) error {
	var e *localapi.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case localapi.CodeStoreHeld:
		fmt.Fprint(c.err, e.Message)
		return exit.Silent(exit.Failed)
	case localapi.CodeSessionBusy, "store_busy", "stopping":
		return exit.Busyf("%w", err)
	}
	return err
}

// printAs prints v as JSON or YAML, or the names; false when the caller prints a table.
func (c *cli) printAs(output string, v any, names ...string) (bool, error) {
	switch output {
	case "json":
		encoder := json.NewEncoder(c.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return true, encoder.Encode(v)
	case "yaml":
		raw, err := yaml.Marshal(v)
		if err == nil {
			_, err = c.out.Write(raw)
		}
		return true, err
	case "name":
		if len(names) > 0 {
			_, err := fmt.Fprintln(c.out, strings.Join(names, "\n"))
			return true, err
		}
		return true, nil
	}
	return false, nil
}

// completeSession offers ids and, for what begins a title, titles.
func (c *cli) completeSession(f *sessionFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && cmd.Name() != "export" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offers []cobra.Completion
		err := c.withSessions(cmd.Context(), &sessionFlags{profile: f.profile, home: f.home}, func(a *sessions.Access) error {
			list, err := a.Sessions(cmd.Context(), a.Profile, localapi.SessionFilter{Limit: 200})
			for _, s := range list {
				if strings.HasPrefix(s.ID, begun) {
					offers = append(offers, cobra.CompletionWithDesc(s.ID, sessions.Name(s)))
				}
				if s.Title != "" && strings.HasPrefix(strings.ToLower(s.Title), strings.ToLower(begun)) && begun != "" {
					offers = append(offers, cobra.CompletionWithDesc(s.Title, s.ID))
				}
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// confirm asks before something is deleted. Without a terminal nobody can be asked, and --yes must say so.
func (c *cli) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return exit.Usagef("%s Standard input is not a terminal: add --yes", question)
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.in, &answer) // no answer is a no
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}
