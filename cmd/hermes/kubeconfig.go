package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
)

func newKubeconfig(c *cli) *cobra.Command {
	var raw bool
	command := &cobra.Command{
		Use:   "kubeconfig [--raw]",
		Short: "Print where the kubeconfig of this machine's control plane is",
		Example: `  kubectl --kubeconfig "$(hermes kubeconfig)" get hermes
  hermes kubeconfig --raw > agents.kubeconfig`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := c.dataDir()
			if err != nil {
				return err
			}
			path := data.ControlPlane().Kubeconfig()
			content, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return datadir.NoneIn(data, c.dataNamed())
			case err != nil:
				return err
			case raw:
				_, err = c.out.Write(content)
				return err
			}
			_, err = fmt.Fprintln(c.out, path)
			return err
		},
	}
	command.Flags().BoolVar(&raw, "raw", false, "print the content instead of the path; it holds the administrator's token")
	return command
}
