package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/manifests"
)

type applyFlags struct {
	files []string
	prune bool
	set   string
	force bool
}

func newApply(c *cli) *cobra.Command {
	var f applyFlags
	command := &cobra.Command{
		Use:   "apply -f FILE|DIR|- [--prune]",
		Short: "Create or change objects to be as declared",
		Long: `Create or change objects to be as declared, by server-side apply.

Each object gets a line: created, configured, or unchanged. A document that is refused does not keep the
others from being applied; then the exit code is 1.

--prune deletes the objects that an earlier apply --prune of the same set created and that the set does not
declare any more. A set is named by its paths, or by --set. Objects of files that cannot be read stay.`,
		Example: `  hermes apply -f agents/
  hermes apply -f agents/ --prune
  kubectl create secret generic anthropic --from-literal=API_KEY=... --dry-run=client -o yaml | hermes apply -f -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.apply(cmd, f) },
	}
	flags := command.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "file or directory with manifests, or - for standard input; may be repeated")
	flags.BoolVar(&f.prune, "prune", false, "delete what the same set applied earlier and does not declare any more")
	flags.StringVar(&f.set, "set", "", "name of the set for --prune (default: from the paths)")
	flags.BoolVar(&f.force, "force-conflicts", false, "take over fields that another program owns")
	return command
}

func (c *cli) apply(cmd *cobra.Command, f applyFlags) error {
	set, err := f.setName()
	if err != nil {
		return err
	}
	docs := manifests.Read(f.files, c.in)
	client, err := c.client()
	if err != nil {
		return err
	}
	applier, err := newApplier(client)
	if err != nil {
		return err
	}
	applier.EnforceNamespace = c.namespace != ""
	applier.Manager, applier.Force, applier.Set = manifests.FieldManager, f.force, set
	code := exit.Failed
	report := func(r manifests.Result) {
		if r.Outcome == manifests.Failed {
			r.Err = client.Explain(r.Err)
			if exit.Code(r.Err) == exit.TryAgain {
				code = exit.TryAgain
			}
			fmt.Fprintln(c.err, r)
			return
		}
		fmt.Fprintln(c.out, r)
	}
	if len(docs) == 0 {
		return errors.New("nothing to apply: the input holds no object")
	}
	results := applier.Apply(cmd.Context(), docs, report)
	if f.prune {
		results = append(results, applier.Prune(cmd.Context(), results, report)...)
	}
	if manifests.AnyFailed(results) {
		return exit.Silent(code)
	}
	return nil
}

func (f applyFlags) setName() (string, error) {
	switch {
	case len(f.files) == 0:
		return "", exit.Usagef("name what to apply with -f: a file, a directory, or - for standard input")
	case !f.prune && f.set != "":
		return "", exit.Usagef("--set is for --prune: add --prune or drop --set")
	case !f.prune:
		return "", nil
	case f.set == manifests.WatchedSet:
		return "", exit.Usagef("the set %s belongs to hermes up --manifests: choose another name", f.set)
	case f.set != "":
		return f.set, nil
	case slices.Contains(f.files, "-"):
		return "", exit.Usagef("--prune of standard input needs --set NAME: it has no path to be named by")
	}
	return manifests.SetName(f.files)
}

// newApplier applies to the client's control plane and namespace.
func newApplier(client *kube.Client) (*manifests.Applier, error) {
	cfg, err := client.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	mapper, err := client.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	namespace, err := client.Namespace()
	if err != nil {
		return nil, err
	}
	return &manifests.Applier{Client: dyn, Mapper: mapper, Namespace: namespace}, nil
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("unexpected argument %q", args[0])
	}
	return nil
}
