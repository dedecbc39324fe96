package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/profile"
)

func newProfile(c *cli) *cobra.Command {
	command := &cobra.Command{
		Use:   "profile",
		Short: "List, back up, restore and import profiles",
		Args:  knownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newProfileList(c), newProfileShow(c), newProfileBackup(c), newProfileRestore(c), newProfileImport(c))
	return command
}

// dataFlags are what every verb about a profile's data takes.
type dataFlags struct {
	reach.Flags
	output string
}

func (f *dataFlags) add(command *cobra.Command) {
	f.Register(command.Flags())
	command.Flags().StringVarP(&f.output, "output", "o", "", "json")
}

// named takes the profile from the argument or from -p.
func (f *dataFlags) named(args []string) error {
	if f.output != "" && f.output != "json" {
		return exit.Usagef("-o %s: use json, or leave it out", f.output)
	}
	return f.Argument(args)
}

func newProfileList(c *cli) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "list",
		Short: "List profiles with their stores and backups",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "json", "name"}, output) {
				return exit.Usagef("-o %s: use json or name, or leave it out", output)
			}
			profiles, err := c.profiles(cmd.Context(), "")
			if err != nil {
				return err
			}
			return c.printProfiles(profiles, output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json or name")
	return command
}

// profiles reads the declared profiles, or the one of a name.
func (c *cli) profiles(ctx context.Context, name string) ([]v1alpha1.Profile, error) {
	client, rest, namespace, err := c.api()
	if err != nil {
		return nil, err
	}
	s, err := statusfeed.List(ctx, rest, statusfeed.Query{Namespace: namespace, Kind: "Profile", Name: name})
	if err == nil && name != "" && len(s.Profiles) == 0 {
		return nil, fmt.Errorf("there is no profile %q in namespace %s", name, namespace)
	}
	return s.Profiles, client.Explain(err)
}

// profileRow is one profile in a list.
type profileRow struct {
	Name         string     `json:"name"`
	Ready        string     `json:"ready"`
	Reason       string     `json:"reason"`
	Gateway      string     `json:"gateway"`
	Model        string     `json:"model,omitempty"`
	Home         string     `json:"home,omitempty"`
	Sessions     int64      `json:"sessions"`
	Bytes        int64      `json:"bytes"`
	LastActivity *time.Time `json:"lastActivity,omitempty"`
	// BackedUp is the message of that condition, empty when no backups are declared.
	BackedUp string `json:"backedUp,omitempty"`
	BackupOK *bool  `json:"backupOK,omitempty"`
	// BackupFiles counts the backups in the profile's home, whoever made them; nil when that is not on this machine.
	BackupFiles *int `json:"backupFiles,omitempty"`
}

func newProfileRow(p v1alpha1.Profile) profileRow {
	row := profileRow{Name: p.Name, Ready: "Unknown", Gateway: p.Spec.GatewayRef.Name, Model: p.Spec.Model.Name}
	if row.Model == "" {
		row.Model = p.Spec.Model.Provider
	}
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		row.Ready, row.Reason = string(ready.Status), ready.Reason
	}
	if p.Status.Gateway != nil {
		row.Home = p.Status.Gateway.Home
	}
	if s := p.Status.Store; s != nil {
		row.Sessions, row.Bytes = s.Sessions, s.SizeBytes
		if s.LastActivity != nil {
			row.LastActivity = &s.LastActivity.Time
		}
	}
	if b := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionBackedUp); b != nil {
		ok := b.Status == "True"
		row.BackedUp, row.BackupOK = b.Message, &ok
	}
	row.BackupFiles = countBackups(row.Home, p.Name)
	return row
}

// countBackups counts by name: no backup is read.
func countBackups(dir, name string) *int {
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	paths := home.ForHome(dir)
	paths.Name = name
	n, err := backup.Count(profile.BackupDir(paths), name)
	if err != nil {
		return nil
	}
	return &n
}

// backups is the column of that name: how many there are, and whether those that are declared are made.
func (r profileRow) backups() string {
	var parts []string
	if r.BackupFiles != nil && (*r.BackupFiles > 0 || r.BackupOK != nil) {
		parts = append(parts, fmt.Sprint(*r.BackupFiles))
	}
	if r.BackupOK != nil {
		parts = append(parts, map[bool]string{true: "ok", false: "not ok"}[*r.BackupOK])
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func (c *cli) printProfiles(profiles []v1alpha1.Profile, output string) error {
	rows := make([]profileRow, len(profiles))
	for i, p := range profiles {
		rows[i] = newProfileRow(p)
	}
	switch output {
	case "json":
		return printJSON(c, rows)
	case "name":
		for _, r := range rows {
			fmt.Fprintln(c.out, r.Name)
		}
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tREADY\tGATEWAY\tMODEL\tSESSIONS\tSTORE\tLAST ACTIVITY\tBACKUPS")
	for _, r := range rows {
		activity := "-"
		if r.LastActivity != nil {
			activity = r.LastActivity.Local().Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Name, r.Ready, r.Gateway, r.Model, r.Sessions, bytesText(r.Bytes), activity, r.backups())
	}
	return table.Flush()
}

// bytesText is a size for people.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, "KMGTPE"
	for value >= unit && len(prefix) > 1 {
		value, prefix = value/unit, prefix[1:]
	}
	return strings.Replace(fmt.Sprintf("%.1f %ciB", value, prefix[0]), ".0 ", " ", 1)
}
