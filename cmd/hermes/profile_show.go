package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/localapi"
)

func newProfileShow(c *cli) *cobra.Command {
	var f dataFlags
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one profile: where it lives, what it stores, its conditions and backups",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.named(args); err != nil {
				return err
			}
			if f.profile == "" {
				return exit.Usagef("name a profile: hermes profile show NAME")
			}
			return c.showProfile(cmd.Context(), f)
		},
	}
	command.Flags().StringVarP(&f.output, "output", "o", "", "json")
	return command
}

// profileDetail is one profile as it is shown.
type profileDetail struct {
	profileRow
	Conditions []conditionRow        `json:"conditions"`
	Backups    []localapi.BackupInfo `json:"backups"`
	// BackupsProblem is why the backups cannot be listed.
	BackupsProblem string `json:"backupsProblem,omitempty"`
}

type conditionRow struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

func (c *cli) showProfile(ctx context.Context, f dataFlags) error {
	profiles, err := c.profiles(ctx, f.profile)
	if err != nil {
		return err
	}
	d := profileDetail{profileRow: newProfileRow(profiles[0]), Backups: []localapi.BackupInfo{}}
	for _, k := range profiles[0].Status.Conditions {
		d.Conditions = append(d.Conditions, conditionRow{k.Type, string(k.Status), k.Reason, k.Message, k.LastTransitionTime.Time})
	}
	if k, _, done, err := c.keeper(ctx, f); err != nil {
		d.BackupsProblem = err.Error()
	} else {
		defer done()
		if list, err := k.Backups(ctx); err != nil {
			d.BackupsProblem = err.Error()
		} else {
			d.Backups = list
		}
	}
	if f.output == "json" {
		return printJSON(c, d)
	}
	return c.printProfile(d)
}

func (c *cli) printProfile(d profileDetail) error {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	field("Name", d.Name)
	field("Gateway", d.Gateway)
	field("Model", d.Model)
	field("Home", d.Home)
	field("Store", fmt.Sprintf("%d sessions, %s", d.Sessions, bytesText(d.Bytes)))
	if d.LastActivity != nil {
		field("Last activity", d.LastActivity.Local().Format(time.DateTime))
	}
	for _, k := range d.Conditions {
		field(k.Type, fmt.Sprintf("%s %s: %s", k.Status, k.Reason, k.Message))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if d.BackupsProblem != "" {
		fmt.Fprintln(c.out, "Backups cannot be listed:", d.BackupsProblem)
		return nil
	}
	return c.printBackups(d.Backups)
}

func (c *cli) printBackups(list []localapi.BackupInfo) error {
	if len(list) == 0 {
		fmt.Fprintln(c.out, "no backups")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "MADE\tBY\tSESSIONS\tMESSAGES\tSIZE\tFILE")
	for _, b := range list {
		sessions, messages, by := "-", "-", string(b.Trigger)
		if b.Store != nil {
			sessions, messages = fmt.Sprint(b.Store.Sessions), fmt.Sprint(b.Store.Messages)
		}
		if b.Problem != "" {
			by = "unusable"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", b.Created.Local().Format(time.DateTime), by, sessions, messages, bytesText(b.Bytes), b.Path)
	}
	return table.Flush()
}
