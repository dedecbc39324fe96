package main

import (
	"github.com/spf13/cobra"
)

// strictDefaults makes the verbs that cobra adds itself, help and completion, refuse what there is none of: by default
// they print something else and end with 0.
func strictDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "completion":
			command.Args = knownVerb
			command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			command.Run = nil
			command.RunE = func(cmd *cobra.Command, args []string) error {
				about, rest, err := cmd.Root().Find(args)
				if err != nil {
					return err
				}
				if err := knownVerb(about, rest); err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}
