package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/keeper"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/homeimport"
	"hermes.dev/hermes/runtime/store"
)

type importFlags struct {
	name, gateway, manifest, home string
	dryRun, apply, secrets        bool
	timeout                       time.Duration
}

func newProfileImport(c *cli) *cobra.Command {
	var f importFlags
	command := &cobra.Command{
		Use:   "import PATH",
		Short: "Import the home of a Python agent",
		Long: `Import the home of a Python agent (~/.hermes, or profiles/NAME below it): config.yaml, SOUL.md and the names in
.env become a manifest, cron jobs become Schedules, sessions with their messages, usage and lineage go into the new
profile's store, memories and skills into its home.

Without --apply nothing is changed anywhere: everything is read and judged, and a table says what would be imported
and what would not. The source is never modified, and a second import adds nothing that is there.

Values of secrets stay where they are unless --with-secrets asks for them.`,
		Example: `  hermes profile import ~/.hermes
  hermes profile import ~/.hermes --name ada -o ada.yaml
  hermes profile import ~/.hermes --name ada --apply --with-secrets
  hermes profile import ~/.hermes --home /srv/agents/profiles/ada   # rows and files only, without a control plane`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("name one home to import, for example ~/.hermes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.apply && (f.home != "" || cmd.Flags().Changed("dry-run") && f.dryRun) {
				return exit.Usagef("--apply imports into a declared Profile: leave --home and --dry-run out")
			}
			return c.importProfile(cmd.Context(), args[0], f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "name of the new Profile (default: the profile's name in the old home)")
	flags.StringVar(&f.gateway, "gateway", "", "Gateway that serves it (default: default)")
	flags.BoolVar(&f.dryRun, "dry-run", true, "only say what would be imported")
	flags.BoolVar(&f.apply, "apply", false, "apply the manifest, wait for the profile, and import into it")
	flags.StringVarP(&f.manifest, "output", "o", "", "write the manifest to this file (mode 0600), or - for standard output")
	flags.StringVar(&f.home, "home", "", "import rows and files into this profile home, which nobody serves; no manifest is applied")
	flags.BoolVar(&f.secrets, "with-secrets", false, "put the values of secrets into the manifest")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long --apply waits for the profile to be served")
	return command
}

// importRun is one import: what was found, and what became of it.
type importRun struct {
	f       importFlags
	home    homeimport.Home
	objects homeimport.Objects
	// copied is the settled copy of the source's store, "" when it has none.
	copied string
	live   bool
	rows   store.ImportReport
	files  int
	done   bool
}

func (c *cli) importProfile(ctx context.Context, path string, f importFlags) error {
	work, err := os.MkdirTemp("", "hermes-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	run, err := readImport(ctx, path, f, work)
	if err != nil {
		return err
	}
	if f.manifest != "" {
		if err := c.writeManifest(run); err != nil {
			return err
		}
	}
	switch {
	case f.apply:
		err = c.applyImport(ctx, run)
	case f.home != "":
		var k keeper.Keeper
		if k, _, _, err = c.localKeeper(f.home, run.objects.Profile.Name); err == nil {
			err = run.fill(ctx, k, f.home)
		}
	}
	if f.manifest == "-" {
		c.printImport(c.err, run)
	} else {
		c.printImport(c.out, run)
	}
	return dataError(err)
}

// readImport reads and judges everything and changes nothing: the store is looked at as a copy below work.
func readImport(ctx context.Context, path string, f importFlags, work string) (*importRun, error) {
	h, err := homeimport.Read(path)
	if err != nil {
		return nil, err
	}
	run := &importRun{f: f, home: h}
	into := ""
	if f.home != "" { // rows get the name of the profile they go to
		dir, err := filepath.Abs(f.home)
		if err != nil {
			return nil, err
		}
		into = home.ForHome(dir).Name
	}
	run.objects, err = homeimport.Convert(h, homeimport.Options{Name: cmp.Or(f.name, into, h.Name), Gateway: f.gateway, Secrets: f.secrets})
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	if !h.HasStore {
		return run, nil
	}
	run.copied = filepath.Join(work, "state.db")
	if run.live, err = store.CopyForeign(ctx, filepath.Join(h.Dir, "state.db"), run.copied); err != nil {
		return nil, err
	}
	run.rows, err = store.SurveyImport(ctx, run.copied, store.ImportOptions{Profile: run.objects.Profile.Name})
	return run, err
}

func (c *cli) writeManifest(run *importRun) error {
	text, err := run.objects.Manifest()
	if err != nil {
		return err
	}
	if run.f.manifest == "-" {
		_, err = c.out.Write(text)
		return err
	}
	if err := renameio.WriteFile(run.f.manifest, text, 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	// renameio keeps the mode of a file it replaces; this one may hold secrets.
	if err := os.Chmod(run.f.manifest, 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// fill adds the rows and files to a profile.
func (run *importRun) fill(ctx context.Context, k keeper.Keeper, dir string) error {
	if run.copied != "" {
		report, err := k.Import(ctx, run.copied)
		if err != nil {
			return err
		}
		run.rows = report
	}
	run.done = true
	files, err := homeimport.CopyFiles(run.home, dir)
	run.files = files
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the sessions are imported; memories and skills are not, because the profile's home %s is not on this machine", dir)
	}
	return err
}

func (c *cli) printImport(out io.Writer, run *importRun) {
	o := run.objects
	verb := "would be imported"
	if run.done {
		verb = "imported"
	}
	if run.live {
		fmt.Fprintln(out, "note: a process has the store open; what it had committed was read")
	}
	for _, n := range append(o.Notes, run.rows.Notes...) {
		fmt.Fprintln(out, "note:", homeimport.OneLine(n))
	}
	if len(o.Unknown) > 0 {
		fmt.Fprintln(out, "note: keys of config.yaml that nobody knows, kept in spec.config:", homeimport.OneLine(strings.Join(o.Unknown, ", ")))
	}
	if len(run.rows.Unknown) > 0 {
		fmt.Fprintln(out, "note: columns of the store that nobody knows, left out:", homeimport.OneLine(strings.Join(run.rows.Unknown, ", ")))
	}
	fmt.Fprintf(out, "\n%s → profile %s\n", run.home.Dir, o.Profile.Name)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "WHAT\t%s\tSKIPPED\t \n", strings.ToUpper(verb))
	variables := 0
	for _, s := range o.Secrets {
		variables += len(s.StringData)
	}
	files := len(run.home.Files)
	if run.done {
		files = run.files
	}
	for _, row := range []struct {
		what   string
		n      int64
		skip   string
		detail string
	}{
		{"settings", int64(len(o.Typed) + len(o.Overlaid)), "", fmt.Sprintf("%d with a field of their own", len(o.Typed))},
		{"variables", int64(variables), "", map[bool]string{true: "with values", false: "names only"}[run.f.secrets]},
		{"cron jobs", int64(len(o.Schedules)), fmt.Sprint(len(run.home.Jobs) - len(o.Schedules)), ""},
		{"files", int64(files), fmt.Sprint(len(run.home.Files) - files), "memories and skills"},
		{"sessions", run.rows.Sessions, fmt.Sprint(run.rows.Present), "skipped ones were there already"},
		{"messages", run.rows.Messages, "", ""},
		{"usage rows", run.rows.Usage, "", ""},
		{"unreadable rows", 0, fmt.Sprint(run.rows.Skipped), ""},
		{"repaired values", run.rows.Repaired, "", ""},
	} {
		fmt.Fprintf(table, "%s\t%d\t%s\t %s\n", row.what, row.n, row.skip, row.detail)
	}
	_ = table.Flush() // the summary's own writer has said it by then
	if !run.done {
		fmt.Fprintln(out, "\nnothing was changed: add --apply to import, or -o FILE for the manifest")
	}
}
