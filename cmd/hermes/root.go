package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

// cli is what every verb gets: the streams, the environment, the clock, and the flags all verbs share.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	clock    clock.WithTicker

	data, kubeconfig, namespace string
	noColor                     bool
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, c *cli, args []string) int {
	root := newRoot(c)
	root.SetArgs(args)
	command, err := executeCatchingFatal(ctx, root)
	err = c.explainRefused(err)
	err = asUsage(saysWhatIsMissing(command, err))
	if line := exit.Line("hermes", err); line != "" {
		fmt.Fprintln(c.err, c.inUse().Message(line))
		if exit.Code(err) == exit.Usage && command != nil {
			fmt.Fprintf(c.err, "See '%s --help'.\n", command.CommandPath())
		}
	}
	return exit.Code(err)
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:           "hermes",
		Short:         "Run personal AI agents the way Kubernetes runs services",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       currentVersion().Version,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("hermes {{.Version}}\n")
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usagef("%w", err) })
	flags := root.PersistentFlags()
	flags.StringVar(&c.data, "data", "", "data directory (default $HERMES_DATA, $XDG_STATE_HOME/hermes or ~/.local/state/hermes)")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane (default: the one of the data directory, else $KUBECONFIG or ~/.kube/config)")
	flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace (default: the kubeconfig's, else default)")
	flags.BoolVar(&c.noColor, "no-color", false, "print no colours")
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"machine", "This machine:", []*cobra.Command{newUp(c), newDown(c), newKubeconfig(c), newDoctor(c), newOperator(c), newGateway(c)}},
		{"objects", "Declarations:", []*cobra.Command{newApply(c), newGet(c), newDelete(c), newExplain(c), newStatus(c)}},
		{"agents", "Agents:", []*cobra.Command{newChat(c), newProfile(c), newSessions(c), newCron(c), newTools(c)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.id
			root.AddCommand(command)
		}
	}
	root.AddCommand(newVersion(c), newMan(c))
	strictDefaults(root)
	c.addCompletions(root)
	return root
}

// knownVerb refuses a verb that there is none of, and names those that look like it.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters that differ
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		return exit.Usagef("unknown command %q: did you mean %s %s?", args[0], cmd.CommandPath(), strings.Join(close, " or "))
	}
	return exit.Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
}

// explainRefused puts kubectl's words for a server that does not listen into ours: it knows nothing of data
// directories.
func (c *cli) explainRefused(err error) error {
	if err == nil || !strings.Contains(err.Error(), "was refused - did you specify the right host or port?") {
		return err
	}
	client, clientErr := c.client()
	if clientErr != nil {
		return clientErr
	}
	if client.Source.Kind != datadir.Local {
		return err
	}
	return client.Explain(syscall.ECONNREFUSED)
}

// saysWhatIsMissing puts what a verb takes, from its usage, in the place of cobra's count of arguments.
func saysWhatIsMissing(command *cobra.Command, err error) error {
	if err == nil || command == nil || !strings.Contains(err.Error(), " arg(s)") {
		return err
	}
	_, takes, _ := strings.Cut(command.Use, " ")
	return exit.Usagef("%s takes %s: see its help for what that is", command.CommandPath(), takes)
}

// asUsage gives the errors of cobra itself, which carry no type, the exit code of a wrong command line.
func asUsage(err error) error {
	var typed *exit.Error
	if err == nil || errors.As(err, &typed) {
		return err
	}
	for _, prefix := range []string{"unknown command ", "required flag(s) ", "if any flags in the group ", "accepts ", "requires at least ", "requires at most ", "invalid argument "} {
		if strings.HasPrefix(err.Error(), prefix) {
			return exit.Usagef("%w", err)
		}
	}
	return err
}

// dataDir is the data directory this command line means; somebody else's is refused.
func (c *cli) dataDir() (datadir.Dir, error) {
	data, err := datadir.Resolve(c.data, c.getenv)
	if err != nil {
		return "", err
	}
	return data, data.Ours()
}

// dataNamed reports whether somebody named it; else it is the default one.
func (c *cli) dataNamed() bool { return datadir.Named(c.data, c.getenv) }

// inUse words commands for people as this command line would be repeated.
func (c *cli) inUse() datadir.InUse {
	return datadir.InUse{Data: c.data, Kubeconfig: c.kubeconfig, Namespace: c.namespace}
}

// client reaches the control plane this command line means. Nothing is sent yet.
func (c *cli) client() (*kube.Client, error) {
	found, err := datadir.Detect(c.kubeconfig, c.data, c.getenv)
	if err != nil {
		return nil, err
	}
	source, err := datadir.Choose(found)
	if err != nil {
		return nil, err
	}
	return kube.New(source, c.namespace), nil
}

// api is a client of our kinds on the control plane that the flags name, and the namespace they name.
func (c *cli) api() (*kube.Client, rest.Interface, string, error) {
	client, err := c.client()
	if err != nil {
		return nil, nil, "", err
	}
	namespace, err := client.Namespace()
	if err != nil {
		return nil, nil, "", err
	}
	api, err := client.Hermes()
	return client, api, namespace, err
}
