package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/sessions"
	"hermes.dev/hermes/runtime/localapi"
)

func newSessionsList(c *cli, f *sessionFlags) *cobra.Command {
	var filter localapi.SessionFilter
	var since string
	var limit int
	command := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest activity first",
		Example: `  hermes sessions list
  hermes sessions list -p alice --since 7d -o wide
  hermes sessions list --limit 0 -o name`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if filter.Since, err = sessions.ParseWhen(since, c.clock.Now(), time.Local); err != nil {
				return exit.Usagef("--since: %w", err)
			}
			if limit < 0 {
				return exit.Usagef("--limit %d: use 0 for all, or how many", limit)
			}
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				list, more, err := listSessions(cmd.Context(), a, filter, limit)
				if err != nil {
					return err
				}
				return c.printSessions(f.output, list, more)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&filter.Source, "source", "", "only of this source: cli, api, cron or a platform")
	flags.StringVar(&since, "since", "", "only with activity since: 7d, 2026-11-29 or 2026-11-29T12:00")
	flags.IntVar(&limit, "limit", 50, "the most to list; 0 lists all")
	flags.BoolVar(&filter.Archived, "archived", false, "also archived ones")
	flags.BoolVar(&filter.Hidden, "hidden", false, "also hidden ones")
	f.outputFlag(command)
	return command
}

// listSessions reads pages until there are enough; limit 0 is all. more says that there are further ones.
func listSessions(ctx context.Context, a *sessions.Access, filter localapi.SessionFilter, limit int) (list []localapi.SessionInfo, more bool, err error) {
	const page = 200
	list = []localapi.SessionInfo{}
	for {
		filter.Limit = page
		if limit > 0 {
			filter.Limit = min(page, limit-len(list))
		}
		got, err := a.ListSessions(ctx, a.Profile, filter)
		if err != nil {
			return nil, false, err
		}
		list = append(list, got.Data...)
		if got.Next == "" || limit > 0 && len(list) >= limit {
			return list, got.Next != "", nil
		}
		filter.Page = got.Next
	}
}

func (c *cli) printSessions(output string, list []localapi.SessionInfo, more bool) error {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.ID
	}
	if done, err := c.printAs(output, list, names...); done {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(c.err, "there are no such sessions")
		return nil
	}
	err := sessions.List(c.out, list, output == "wide")
	if err == nil && more {
		fmt.Fprintf(c.err, "there are more than %d: see --limit\n", len(list))
	}
	return err
}

func newSessionsShow(c *cli, f *sessionFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session with its transcript",
		Example: `  hermes sessions show 20261129_215501
  hermes sessions show "Tax return" -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSession(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				s, err := a.Session(cmd.Context(), a.Profile, args[0])
				if err != nil {
					return err
				}
				if done, err := c.printAs(f.output, s, s.ID); done {
					return err
				}
				return sessions.Show(c.out, s)
			})
		},
	}
	f.outputFlag(command)
	return command
}

func newSessionsSearch(c *cli, f *sessionFlags) *cobra.Command {
	var filter localapi.SearchFilter
	var since, until string
	command := &cobra.Command{
		Use:   "search TEXT...",
		Short: "Find messages",
		Long: `Find messages that have all the words, best first, then those that have them as parts of words. Text in double
quotes is looked for as it is; nothing else has a meaning of its own. Of what tools answered only the first 8192
characters are searched.`,
		Example: `  hermes sessions search passport drawer
  hermes sessions search '"blue drawer"' --since 30d
  hermes sessions search 重启 --role user -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			filter.Query = strings.Join(args, " ")
			now := c.clock.Now()
			if filter.Since, err = sessions.ParseWhen(since, now, time.Local); err != nil {
				return exit.Usagef("--since: %w", err)
			}
			if filter.Until, err = sessions.ParseWhen(until, now, time.Local); err != nil {
				return exit.Usagef("--until: %w", err)
			}
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				return c.search(cmd.Context(), a, f.output, filter)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&filter.Session, "session", "", "only in this session")
	flags.StringVar(&filter.Role, "role", "", "only of this role: user, assistant or tool")
	flags.StringVar(&filter.Source, "source", "", "only of this source: cli, api, cron or a platform")
	flags.StringVar(&since, "since", "", "only since: 7d, 2026-11-29 or 2026-11-29T12:00")
	flags.StringVar(&until, "until", "", "only until")
	flags.IntVar(&filter.Limit, "limit", 20, "the most to find, up to 1000")
	flags.BoolVar(&filter.Substring, "substring", false, "parts of words too, newest first")
	f.outputFlag(command)
	return command
}

func (c *cli) search(ctx context.Context, a *sessions.Access, output string, filter localapi.SearchFilter) error {
	if filter.Session != "" {
		head, err := a.SessionHead(ctx, a.Profile, filter.Session)
		if err != nil {
			return err
		}
		filter.Session = head.ID
	}
	found, err := a.Search(ctx, a.Profile, filter)
	if err != nil {
		return err
	}
	if found.Unindexed > 0 {
		fmt.Fprintf(c.err, "note: the search index is being built: %d older messages were not searched\n", found.Unindexed)
	}
	if found.Bounded {
		fmt.Fprintln(c.err, "note: only the newest 20000 messages were searched: use a term of three characters or more")
	}
	var names []string
	for _, h := range found.Data {
		if len(names) == 0 || names[len(names)-1] != h.Session {
			names = append(names, h.Session)
		}
	}
	if done, err := c.printAs(output, found.Data, names...); done {
		return err
	}
	if len(found.Data) == 0 {
		fmt.Fprintln(c.err, "nothing was found")
		return nil
	}
	return sessions.Hits(c.out, found.Data, isTerminal(c.out) && c.terminal().Color, output == "wide")
}

func newSessionsExport(c *cli, f *sessionFlags) *cobra.Command {
	var all bool
	var format, file string
	command := &cobra.Command{
		Use:   "export (SESSION... | --all)",
		Short: "Write sessions as JSON lines or Markdown",
		Long: `Write sessions to standard output or a file. jsonl is one JSON object a line and session, with every message, also
those that a compaction replaced or that were taken back. markdown is for reading.`,
		Example: `  hermes sessions export "Tax return" --format markdown
  hermes sessions export --all -f alice.jsonl -p alice`,
		ValidArgsFunction: c.completeSession(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all == (len(args) > 0):
				return exit.Usagef("name the sessions to export, or use --all")
			case format != "jsonl" && format != "markdown":
				return exit.Usagef("--format %s: use jsonl or markdown", format)
			}
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				return c.toFile(file, func(w io.Writer) error { return exportSessions(cmd.Context(), a, w, args, format) })
			})
		},
	}
	flags := command.Flags()
	flags.BoolVar(&all, "all", false, "every session, archived and hidden ones too")
	flags.StringVar(&format, "format", "jsonl", "jsonl or markdown")
	flags.StringVarP(&file, "file", "f", "", "write to this file, for its owner only, once everything is there")
	return command
}

// exportSessions writes the sessions that are named, or all.
func exportSessions(ctx context.Context, a *sessions.Access, w io.Writer, refs []string, format string) error {
	var ids []string
	for _, ref := range refs {
		head, err := a.SessionHead(ctx, a.Profile, ref)
		if err != nil {
			return err
		}
		ids = append(ids, head.ID)
	}
	if len(refs) == 0 {
		list, _, err := listSessions(ctx, a, localapi.SessionFilter{Archived: true, Hidden: true}, 0)
		if err != nil {
			return err
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
	}
	for i, id := range ids {
		if i > 0 && format == "markdown" {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := a.Export(ctx, a.Profile, id, format, w); err != nil {
			return err
		}
	}
	return nil
}

// toFile runs write on standard output, or on a file that is put in place when all of it is there.
func (c *cli) toFile(path string, write func(io.Writer) error) (err error) {
	if path == "" {
		return write(c.out)
	}
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, file.Cleanup()) }()
	out := bufio.NewWriter(file)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return file.CloseAtomicallyReplace()
}
