package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/local"
	"hermes.dev/hermes/controllers/engine/process"
)

func newDown(c *cli) *cobra.Command {
	var keep bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop what hermes up started",
		Long: `Stop what hermes up started: gateways first (they finish the turns in flight within their drainTimeout),
then the operator and the control plane. Nothing declared and nothing stored is deleted. It also stops what a
hermes up left behind that was killed, and may be run again at any time.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := c.dataDir()
			if err != nil {
				return err
			}
			return c.down(cmd.Context(), data, keep)
		},
	}
	command.Flags().BoolVar(&keep, "keep-gateways", false, "leave the gateways running; the next hermes up takes them over")
	return command
}

func (c *cli) down(ctx context.Context, data datadir.Dir, keep bool) error {
	d := local.Down{
		Data: data, DataNamed: c.dataNamed(), KeepGateways: keep, GatewayBudget: process.StopBudget(defaultDrain),
		NewEngine: func() (local.Engine, error) {
			return c.newEngine(data, data.ControlPlane().GatewayKubeconfig(), "", logsTo(c.err, nil).install().own)
		},
		Say: func(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) },
	}
	if _, ok := data.Serving(); ok && !keep {
		client := kube.New(datadir.Source{Kind: datadir.FromFlag, Kubeconfig: data.ControlPlane().Kubeconfig()}, "")
		if cfg, err := client.ToRESTConfig(); err == nil {
			d.GatewayBudget = gatewayBudget(ctx, cfg)
		}
	}
	return d.Run(ctx)
}
