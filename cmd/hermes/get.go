package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectldelete "k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/explain"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"hermes.dev/hermes/cmd/hermes/internal/manifests"
)

func newGet(c *cli) *cobra.Command {
	command := kubectlVerb(c, func(f cmdutil.Factory, s genericiooptions.IOStreams) *cobra.Command {
		return get.NewCmdGet("hermes", f, s)
	}, `Show objects.

A kind goes by its name, plural or short name: profile (hprof), gateway (hgw), relayidentity (hri),
metricsconsent (hmc), schedule (hsched). Those names always mean the kinds of hermes.dev, also where
another group has a kind of the same name; "hermes" means all five.`,
		`  hermes get profiles
  hermes get profile alice -o yaml
  hermes get hermes -A
  hermes get secret anthropic -o json`)
	command.Use = "get KIND [NAME...]"
	command.Short = "Show objects"
	return command
}

func newDelete(c *cli) *cobra.Command {
	command := kubectlVerb(c, kubectldelete.NewCmdDelete, `Delete objects and wait until they are gone.

Deleting a Profile keeps its home and its store unless spec.deletionPolicy is Delete.`,
		`  hermes delete profile alice
  hermes delete -f agents/
  hermes delete schedules --all`)
	prepare := command.PreRunE
	command.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := expandDirectories(cmd.Flags().Lookup("filename")); err != nil {
			return err
		}
		return prepare(cmd, args)
	}
	command.Use = "delete (-f FILE | KIND NAME... | KIND --all | KIND -l SELECTOR)"
	command.Short = "Delete objects"
	return command
}

// expandDirectories puts the manifests of each directory in its place, so that delete -f takes the files that apply -f does.
func expandDirectories(flag *pflag.Flag) error {
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok || !flag.Changed {
		return nil
	}
	var out []string
	for _, path := range list.GetSlice() {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			out = append(out, path) // standard input, a URL, or for kubectl to find wanting
			continue
		}
		files, err := manifests.Files(path)
		switch {
		case err != nil:
			return err
		case len(files) == 0:
			return fmt.Errorf("%s holds no *.yaml, *.yml or *.json file", path)
		}
		out = append(out, files...)
	}
	return list.Replace(out)
}

func newExplain(c *cli) *cobra.Command {
	command := kubectlVerb(c, func(f cmdutil.Factory, s genericiooptions.IOStreams) *cobra.Command {
		return explain.NewCmdExplain("hermes", f, s)
	}, `Say what a kind or one of its fields means.`,
		`  hermes explain profile
  hermes explain profile.spec.model.credentials
  hermes explain gateway --recursive`)
	command.Use = "explain KIND[.FIELD...]"
	command.Short = "Say what a kind or a field means"
	return command
}
