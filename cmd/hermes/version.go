package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// version and revision are set by the linker: -X main.version=v1.2.3 -X main.revision=1f3c9ab.
var version, revision string

// versionInfo is what hermes version prints.
type versionInfo struct {
	Version    string `json:"version"`
	Revision   string `json:"revision"`
	GoVersion  string `json:"goVersion"`
	APIVersion string `json:"apiVersion"`
	Platform   string `json:"platform"`
}

func currentVersion() versionInfo {
	v := versionInfo{
		Version: version, Revision: revision, GoVersion: runtime.Version(),
		APIVersion: v1alpha1.GroupVersion.String(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && v.Revision == "" {
				v.Revision = s.Value
			}
		}
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	if v.Revision == "" {
		v.Revision = "unknown"
	}
	return v
}

func newVersion(c *cli) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			switch output {
			case "json":
				return printJSON(c, v)
			case "":
				_, err := fmt.Fprintf(c.out, "hermes %s\nrevision %s\ngo %s %s\napi %s\n", v.Version, v.Revision, v.GoVersion, v.Platform, v.APIVersion)
				return err
			}
			return exit.Usagef("-o %s: use json, or leave it out", output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json")
	return command
}

func printJSON(c *cli, v any) error {
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
