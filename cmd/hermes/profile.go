package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/keeper"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
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

// dataFlags say whose data a verb is about, and where it is when nobody need be asked.
type dataFlags struct {
	profile, home, socket, output string
}

func (f *dataFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.profile, "profile", "p", "", "profile (default: the only one, or the one named default)")
	flags.StringVar(&f.home, "home", "", "home directory of the profile, when no gateway serves it and no control plane knows it")
	flags.StringVar(&f.socket, "socket", "", "API socket of a gateway, instead of looking it up")
	flags.StringVarP(&f.output, "output", "o", "", "json")
}

// named takes the profile from the argument or from -p.
func (f *dataFlags) named(args []string) error {
	switch {
	case len(args) > 1:
		return exit.Usagef("unexpected argument %q: name one profile", args[1])
	case len(args) == 1 && f.profile != "" && f.profile != args[0]:
		return exit.Usagef("the argument says profile %s and -p says %s: name one of them", args[0], f.profile)
	case len(args) == 1:
		f.profile = args[0]
	}
	if f.output != "" && f.output != "json" {
		return exit.Usagef("-o %s: use json, or leave it out", f.output)
	}
	if f.home != "" && f.socket != "" {
		return exit.Usagef("--home is for a profile that nobody serves and --socket for one that is served: use one of them")
	}
	return nil
}

// keeper finds who looks after the profile's data: its gateway when that serves it, else this process. done ends it.
func (c *cli) keeper(ctx context.Context, f dataFlags) (k keeper.Keeper, name string, done func(), err error) {
	if f.home != "" {
		return c.localKeeper(f.home, f.profile)
	}
	found, err := c.locateData(ctx, f)
	if err != nil {
		return nil, "", nil, err
	}
	if found.Socket != "" {
		client := localapi.NewClient(found.Socket, found.Gateway)
		served, err := client.Models(ctx)
		var unreachable *localapi.Error
		switch {
		case err == nil && f.socket != "":
			found.Profile, err = chat.PickServed(ctx, client, f.profile, f.socket)
			if err != nil {
				client.Close()
				return nil, "", nil, err
			}
			return keeper.Served{Client: client, Profile: found.Profile}, found.Profile, client.Close, nil
		case err == nil && slices.Contains(served, found.Profile):
			return keeper.Served{Client: client, Profile: found.Profile}, found.Profile, client.Close, nil
		}
		client.Close()
		if err != nil && (f.socket != "" || !errors.As(err, &unreachable) || unreachable.Code != localapi.CodeUnreachable) {
			return nil, "", nil, err
		}
	}
	if found.Home == "" {
		return nil, "", nil, fmt.Errorf("profile %s has no home yet: see hermes status profile/%s", found.Profile, found.Profile)
	}
	return c.localKeeper(found.Home, found.Profile)
}

func (c *cli) localKeeper(dir, name string) (keeper.Keeper, string, func(), error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, "", nil, fmt.Errorf("%s is not a directory on this machine: name the profile's home with --home", dir)
	}
	paths := home.ForHome(dir)
	if name != "" {
		paths.Name = name
	}
	return keeper.Local{Offline: profile.Offline{Paths: paths, Clock: c.clock, Log: logr.Discard()}}, paths.Name, func() {}, nil
}

// locateData asks the control plane, or, while that of the data directory is stopped, the gateways that go on without it.
func (c *cli) locateData(ctx context.Context, f dataFlags) (chat.Data, error) {
	if f.socket != "" {
		return chat.Data{Target: chat.Target{Socket: f.socket}}, nil
	}
	found, err := c.declaredData(ctx, f.profile)
	var stopped *datadir.NotRunningError
	if !errors.As(err, &stopped) {
		return found, err
	}
	namespace := cmp.Or(c.namespace, "default")
	target, ok, offlineErr := chat.LocateOffline(ctx, stopped.Data.Gateways(), os.TempDir(), namespace, f.profile)
	if offlineErr != nil || !ok {
		return chat.Data{}, fmt.Errorf("%w, or name the profile's home with --home", err)
	}
	return chat.Data{Target: target}, nil
}

// declaredData asks the control plane.
func (c *cli) declaredData(ctx context.Context, name string) (chat.Data, error) {
	client, rest, namespace, err := c.api()
	if err != nil {
		return chat.Data{}, err
	}
	found, err := chat.LocateData(ctx, rest, namespace, name)
	return found, client.Explain(err)
}

// dataError gives a failure its exit code: what somebody else holds may be free later.
func dataError(err error) error {
	var api *localapi.Error
	switch {
	case errors.As(err, &api) && (api.Code == "busy" || api.Code == "store_busy" || api.Code == "stopping"),
		errors.Is(err, store.ErrStoreBusy):
		return exit.Busyf("%w", err)
	}
	return err
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
	return row
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
		activity, backups := "-", "-"
		if r.LastActivity != nil {
			activity = r.LastActivity.Local().Format(time.DateTime)
		}
		if r.BackupOK != nil {
			backups = map[bool]string{true: "ok", false: "not ok"}[*r.BackupOK]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Name, r.Ready, r.Gateway, r.Model, r.Sessions, bytesText(r.Bytes), activity, backups)
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
