package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/doctor"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
)

func newDoctor(c *cli) *cobra.Command {
	var output, apiserver string
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and its control plane, and say what to do",
		Long: `Check this machine and its control plane, and say what to do. Nothing is changed. The exit code is 1 while a
warning or a problem stands.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return exit.Usagef("-o %s: use json, or leave it out", output)
			}
			findings, err := c.diagnose(cmd.Context(), apiserver)
			if err != nil {
				return err
			}
			for i := range findings {
				findings[i].Remedy = c.inUse().Remedy(findings[i].Remedy)
			}
			if output == "json" {
				err = printJSON(c, findings)
			} else {
				_, err = io.WriteString(c.out, doctor.Render(findings, c.terminal()))
			}
			if err == nil && doctor.Stands(findings) > 0 {
				err = exit.Silent(exit.Failed)
			}
			return err
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json")
	command.Flags().StringVar(&apiserver, "apiserver-binary", "", "path of hermes-apiserver, as for hermes up")
	return command
}

func (c *cli) diagnose(ctx context.Context, apiserver string) ([]doctor.Finding, error) {
	data, err := c.dataDir()
	if err != nil {
		return nil, err
	}
	checks := []doctor.Check{
		doctor.APIServerBinary(apiserver),
		doctor.DataDirectory(string(data)),
		doctor.PrivateFile("administrator's kubeconfig", data.ControlPlane().Kubeconfig()),
		doctor.PrivateFile("gateways' kubeconfig", data.ControlPlane().GatewayKubeconfig()),
		doctor.Space(string(data)),
		doctor.Filesystem(string(data)),
		doctor.FileLimit(),
		doctor.Clock(c.clock.Now),
		doctor.UnmanagedHome(c.getenv("HOME")),
	}
	homes := doctor.Homes(data.Gateways())
	for _, home := range homes {
		checks = append(checks, doctor.Stores(home))
	}
	client, err := c.client()
	var stopped *datadir.NotRunningError
	switch {
	case errors.As(err, &stopped):
		checks = append(checks, doctor.NotRunning(stopped.Error()))
	case err != nil:
		return nil, err
	default:
		more, err := c.controlPlaneChecks(ctx, client, homes)
		if err != nil {
			return nil, err
		}
		checks = append(checks, more...)
	}
	return doctor.Run(ctx, checks), nil
}

// controlPlaneChecks are the checks that a control plane makes possible; homes are those whose stores are checked
// already.
func (c *cli) controlPlaneChecks(ctx context.Context, client *kube.Client, homes []string) ([]doctor.Check, error) {
	cfg, err := client.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	checks := []doctor.Check{doctor.Reachable(cfg, c.clock.Now), doctor.CRDs(cfg)}
	rest, err := client.Hermes()
	if err != nil {
		return nil, err
	}
	snapshot, err := statusfeed.List(ctx, rest, statusfeed.Query{Kind: "Gateway"})
	if err != nil || client.Source.Kind != datadir.Local {
		return checks, nil // the checks above say why it does not answer; a cluster's sockets are not here
	}
	for i := range snapshot.Gateways {
		if g := &snapshot.Gateways[i]; g.Spec.Engine == v1alpha1.EngineProcess {
			checks = append(checks, doctor.Gateway(g))
			if home := g.Status.Home; home != "" && !slices.Contains(homes, home) {
				checks = append(checks, doctor.Stores(home))
			}
		}
	}
	return checks, nil
}
