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
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/controllers/pending"
	"hermes.dev/hermes/runtime/homeimport"
	"hermes.dev/hermes/runtime/localapi"
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
	flags.StringVar(&f.home, "home", "", "import rows and files into this home, or the profile of --name below this home root; no manifest is applied")
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
	into := reach.Flags{Profile: f.name, Home: f.home}
	if f.home != "" { // rows get the name of the profile they go to
		target, err := c.finder().Find(ctx, into, reach.Need{Empty: true})
		if err != nil {
			return err
		}
		f.name = target.Profile
	}
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
		err = c.withProfile(ctx, into, reach.Need{Empty: true}, func(a *reach.Access) error { return run.fill(ctx, a) })
	}
	if f.manifest == "-" {
		printImport(c.err, run)
	} else {
		printImport(c.out, run)
	}
	return err
}

// readImport reads and judges everything and changes nothing: the store is looked at as a copy below work.
func readImport(ctx context.Context, path string, f importFlags, work string) (*importRun, error) {
	h, err := homeimport.Read(path)
	if err != nil {
		return nil, err
	}
	run := &importRun{f: f, home: h}
	run.objects, err = homeimport.Convert(h, homeimport.Options{Name: cmp.Or(f.name, h.Name), Gateway: f.gateway, Secrets: f.secrets, SchedulesRun: schedulesRun()})
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

// schedulesRun reports whether the operator of this version acts on Schedules.
func schedulesRun() bool {
	return !slices.ContainsFunc(pending.Kinds(), func(k pending.Kind) bool { return k.Name == "schedule" })
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
func (run *importRun) fill(ctx context.Context, a *reach.Access) error {
	if run.copied != "" {
		report, err := a.Import(ctx, a.Profile, localapi.ImportRequest{Path: run.copied})
		if err != nil {
			return err
		}
		run.rows = report
	}
	run.done = true
	files, err := homeimport.CopyFiles(run.home, a.Home)
	run.files = files
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the sessions are imported; memories and skills are not, because the profile's home %s is not on this machine", a.Home)
	}
	return err
}

// printImport says what was imported, or would be. An import into a home without a control plane declares nothing, so
// it is only about rows and files.
func printImport(out io.Writer, run *importRun) {
	o, declares := run.objects, run.f.home == ""
	verb := "would be imported"
	if run.done {
		verb = "imported"
	}
	for _, n := range run.notes() {
		fmt.Fprintln(out, "note:", homeimport.OneLine(n))
	}
	fmt.Fprintf(out, "\n%s → profile %s\n", run.home.Dir, o.Profile.Name)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "WHAT\t%s\tSKIPPED\t \n", strings.ToUpper(verb))
	if declares {
		run.declared(table)
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
	switch manifest := run.f.manifest; {
	case run.done || run.f.apply || !declares: // an error says what else is there to say
	case manifest == "":
		fmt.Fprintln(out, "\nnothing was changed: add --apply to import, or -o FILE for the manifest")
	case manifest == "-":
		fmt.Fprintln(out, "\nthe manifest was printed and nothing else was changed: sessions and files are imported with --apply")
	default:
		fmt.Fprintf(out, "\n%s was written and nothing else was changed: sessions and files are imported with --apply\n", homeimport.OneLine(manifest))
	}
}

// declared are the rows of what a manifest holds.
func (run *importRun) declared(table io.Writer) {
	o, variables := run.objects, 0
	for _, s := range o.Secrets {
		variables += len(s.StringData)
	}
	values := map[bool]string{true: "with values", false: "names only"}[run.f.secrets]
	fmt.Fprintf(table, "settings\t%d\t\t %d with a field of their own\n", len(o.Typed)+len(o.Overlaid), len(o.Typed))
	fmt.Fprintf(table, "variables\t%d\t\t %s\n", variables, values)
	fmt.Fprintf(table, "cron jobs\t%d\t%d\t \n", len(o.Schedules), len(run.home.Jobs)-len(o.Schedules))
}

// notes are what a person should know about what is imported.
func (run *importRun) notes() []string {
	var out []string
	if run.live {
		out = append(out, "a process has the store open; what it had committed was read")
	}
	if run.f.home == "" || run.f.manifest != "" {
		out = append(out, run.objects.Notes...)
	} else {
		out = append(out, run.home.Notes...)
		out = append(out, "settings, variables and cron jobs are not imported into a home: declare them with the manifest that -o FILE writes")
	}
	out = append(out, run.rows.Notes...)
	if len(run.objects.Unknown) > 0 && (run.f.home == "" || run.f.manifest != "") {
		out = append(out, "keys of config.yaml that nobody knows, kept in spec.config: "+strings.Join(run.objects.Unknown, ", "))
	}
	if len(run.rows.Unknown) > 0 {
		out = append(out, "columns of the store that nobody knows, left out: "+strings.Join(run.rows.Unknown, ", "))
	}
	return out
}
