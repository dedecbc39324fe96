package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	_ "hermes.dev/hermes/cmd/hermes/internal/untranslated" // before kubectl's commands are initialised
)

// The verbs get, delete and explain are kubectl's own, run on our client, so that they behave as people who
// know kubectl expect, down to the output formats.

// getter finds the control plane when a kubectl command first asks for it: the flags are parsed by then.
type getter struct {
	c      *cli
	client *kube.Client
}

func (g *getter) get() (*kube.Client, error) {
	if g.client != nil {
		return g.client, nil
	}
	client, err := g.c.client()
	if err != nil {
		return nil, err
	}
	g.client = client
	return client, nil
}

func (g *getter) ToRESTConfig() (*rest.Config, error) {
	client, err := g.get()
	if err != nil {
		return nil, err
	}
	return client.ToRESTConfig()
}

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := g.get()
	if err != nil {
		return nil, err
	}
	return client.ToDiscoveryClient()
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.get()
	if err != nil {
		return nil, err
	}
	return client.ToRESTMapper()
}

// ToRawKubeConfigLoader cannot fail by its signature: prepare has found the client before it is called.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	client, err := g.get()
	if err != nil {
		return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), nil)
	}
	return client.ToRawKubeConfigLoader()
}

// kubectlVerb builds one of kubectl's commands on our client. Its fatal errors come back through
// executeCatchingFatal.
func kubectlVerb(c *cli, build func(cmdutil.Factory, genericiooptions.IOStreams) *cobra.Command, long, example string) *cobra.Command {
	g := &getter{c: c}
	command := build(cmdutil.NewFactory(g), genericiooptions.IOStreams{In: c.in, Out: c.out, ErrOut: c.err})
	command.Long, command.Example = long, example
	command.PreRunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.Flags().NFlag() == 0 {
			return exit.Usagef("name a kind: profile, gateway, relayidentity, metricsconsent or schedule")
		}
		_, err := g.get()
		return err
	}
	return command
}

// fatal is a kubectl command's way out, thrown by cmdutil's handler.
type fatal struct {
	message string
	code    int
}

// executeCatchingFatal runs the command line. kubectl's commands end through a process-wide handler instead
// of returning an error; this turns that into one.
func executeCatchingFatal(ctx context.Context, root *cobra.Command) (command *cobra.Command, err error) {
	cmdutil.BehaviorOnFatal(func(message string, code int) { panic(fatal{message, code}) })
	defer cmdutil.DefaultBehaviorOnFatal()
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case fatal:
			err = fatalError(thrown)
		default:
			panic(thrown)
		}
	}()
	return root.ExecuteContextC(ctx)
}

func fatalError(f fatal) error {
	switch {
	case f.message == "":
		return exit.Silent(f.code)
	case strings.Contains(f.message, "See 'hermes ") && strings.Contains(f.message, "for help and examples"):
		text, _, _ := strings.Cut(f.message, "\nSee '")
		return exit.Usagef("%s", text)
	}
	return &exit.Error{Code: exit.Failed, Err: errorText(strings.TrimPrefix(f.message, "error: "))}
}

type errorText string

func (e errorText) Error() string { return string(e) }
