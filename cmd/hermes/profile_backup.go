package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/localapi"
)

func newProfileBackup(c *cli) *cobra.Command {
	var f dataFlags
	var to string
	var secrets, workspace bool
	command := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Make a verified backup of a profile while it works",
		Long: `Make a backup of a profile: its session store as of one moment, config.yaml, SOUL.md, memories, skills and
cron jobs, as one file in backups/profile of its home. It counts only after SQLite's integrity check of the copy
and after the file was read back. Turns go on meanwhile. Backups made by this verb are never pruned.

Values of secrets and the workspace are left out unless asked for.`,
		Example: `  hermes profile backup alice
  hermes profile backup alice --to /mnt/usb
  hermes profile backup --home ~/.hermes   # a home that no gateway serves`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.named(args); err != nil {
				return err
			}
			r := localapi.BackupRequest{Secrets: secrets, Workspace: workspace}
			if to != "" {
				var err error
				if r.Directory, err = filepath.Abs(to); err != nil {
					return err
				}
			}
			return c.backupProfile(cmd.Context(), f, r)
		},
	}
	f.add(command)
	flags := command.Flags()
	flags.StringVar(&to, "to", "", "directory for the backup, which must exist (default: backups/profile in the profile's home)")
	flags.BoolVar(&secrets, "with-secrets", false, "put .env with its values into the backup")
	flags.BoolVar(&workspace, "with-workspace", false, "put workspace/ of the home into the backup")
	return command
}

func (c *cli) backupProfile(ctx context.Context, f dataFlags, r localapi.BackupRequest) error {
	return c.withProfile(ctx, f.Flags, reach.Need{}, func(a *reach.Access) error {
		made, err := a.Backup(ctx, a.Profile, r)
		if err != nil {
			return err
		}
		if f.output == "json" {
			return printJSON(c, made)
		}
		what := "no session store yet"
		if made.Store != nil {
			what = fmt.Sprintf("%d sessions, %d messages", made.Store.Sessions, made.Store.Messages)
		}
		fmt.Fprintf(c.out, "profile %s backed up: %s, %d files, %s\n%s\n", a.Profile, what, made.Files, bytesText(made.Bytes), made.Path)
		for _, s := range made.Skipped {
			fmt.Fprintln(c.err, "left out:", s)
		}
		return nil
	})
}

type restoreFlags struct {
	dataFlags
	from                            string
	list, dryRun, files, anyProfile bool
	yes                             bool
}

func newProfileRestore(c *cli) *cobra.Command {
	var f restoreFlags
	command := &cobra.Command{
		Use:   "restore [NAME]",
		Short: "Restore a profile's store from a backup",
		Long: `Restore a profile's session store from a backup: the newest one, or the one that --from names. The backup is
verified first. No turn may be running. On a terminal you are asked; elsewhere --yes must say so. The store that is replaced stays beside the new one as
state.db.before-restore-TIME.

With --files also SOUL.md, memories, skills and the other files of the backup are put back, except those that the
Profile declares; replaced ones go into backups/before-restore-TIME.`,
		Example: `  hermes profile restore alice --list
  hermes profile restore alice --dry-run
  hermes profile restore alice --yes --from alice-20260102T030000.000Z.tar.zst`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.named(args); err != nil {
				return err
			}
			if f.list && (f.from != "" || f.dryRun) {
				return exit.Usagef("--list only lists: leave --from and --dry-run out")
			}
			return c.restoreProfile(cmd.Context(), f)
		},
	}
	f.add(command)
	flags := command.Flags()
	flags.StringVar(&f.from, "from", "", "backup to restore: a path, or a file name of --list (default: the newest good one)")
	flags.BoolVar(&f.list, "list", false, "list the profile's backups and leave")
	flags.BoolVar(&f.dryRun, "dry-run", false, "verify the backup and say what would be done")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&f.files, "files", false, "restore files too, not only the store")
	flags.BoolVar(&f.anyProfile, "any-profile", false, "accept a backup of another profile")
	return command
}

func (c *cli) restoreProfile(ctx context.Context, f restoreFlags) error {
	return c.withProfile(ctx, f.Flags, reach.Need{Empty: true}, func(a *reach.Access) error {
		if f.list {
			list, err := a.Backups(ctx, a.Profile)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return printJSON(c, list)
			}
			return c.printBackups(list)
		}
		path, err := chooseBackup(ctx, a, f.from)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Replace the session store of profile %s by that of %s?", a.Profile, filepath.Base(path))
		if err := c.confirm(f.yes || f.dryRun, question); err != nil {
			return err
		}
		result, err := a.Restore(ctx, a.Profile, localapi.RestoreRequest{Path: path, Files: f.files, DryRun: f.dryRun, AnyProfile: f.anyProfile})
		if err != nil {
			return err
		}
		if f.output == "json" {
			return printJSON(c, result)
		}
		c.printRestored(a.Profile, path, result, f)
		return nil
	})
}

// chooseBackup turns --from into an absolute path.
func chooseBackup(ctx context.Context, a *reach.Access, from string) (string, error) {
	if strings.ContainsRune(from, filepath.Separator) {
		return filepath.Abs(from)
	}
	name := a.Profile
	list, err := a.Backups(ctx, name)
	if err != nil {
		return "", err
	}
	for _, b := range list {
		if from == filepath.Base(b.Path) || from == "" && b.Problem == "" {
			return b.Path, nil
		}
	}
	if from == "" {
		return "", fmt.Errorf("profile %s has no backup that can be used: see hermes profile restore %s --list", name, name)
	}
	return "", fmt.Errorf("profile %s has no backup %s: see hermes profile restore %s --list, or give a path", name, from, name)
}

func (c *cli) printRestored(name, path string, r backup.Restored, f restoreFlags) {
	verb := "restored"
	if f.dryRun {
		verb = "would be restored"
	}
	what := "no session store"
	if r.Store != nil {
		what = fmt.Sprintf("%d sessions, %d messages", r.Store.Sessions, r.Store.Messages)
	}
	fmt.Fprintf(c.out, "profile %s %s from %s: %s of %s\n", name, verb, path, what, r.Created.Local().Format("2006-01-02 15:04:05"))
	for _, w := range r.Written {
		fmt.Fprintf(c.out, "  %s %s\n", verb, w)
	}
	for _, kept := range r.KeptAside {
		fmt.Fprintln(c.out, "  replaced, kept as", kept)
	}
	if f.files {
		for _, l := range r.Left {
			fmt.Fprintln(c.out, "  left as it is:", l)
		}
	}
}
