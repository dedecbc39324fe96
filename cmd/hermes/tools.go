package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/cmd/hermes/internal/toolview"
	"hermes.dev/hermes/runtime/tools"
)

type toolsFlags struct {
	reach.Flags
	output string
	all    bool
}

func newTools(c *cli) *cobra.Command {
	var f toolsFlags
	command := &cobra.Command{
		Use:   "tools",
		Short: "Show and choose what an agent may use",
		Long: `Show and choose what an agent may use.

What is on is declared in the Profile: spec.toolsets selects, spec.disabledToolsets takes away. enable and disable edit
those lists by server-side apply under a field manager of their own, so that entries of a manifest stay its own.`,
		Example: `  hermes tools list -p alice
  hermes tools show web -p alice
  hermes tools disable terminal -p alice
  hermes tools revoke all -p alice`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.RegisterProfile(command.PersistentFlags())
	command.AddCommand(newToolsList(c, &f), newToolsShow(c, &f), newToolsRevoke(c, &f),
		newToolsToggle(c, &f, "enable", "Let an agent use a toolset", toolview.Enable),
		newToolsToggle(c, &f, "disable", "Take a toolset from an agent", toolview.Disable))
	return command
}

func (f *toolsFlags) readFlags(command *cobra.Command) {
	command.Flags().StringVarP(&f.output, "output", "o", "", "json, yaml or name")
	f.RegisterPlace(command.Flags())
}

func newToolsList(c *cli, f *toolsFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List toolsets: what is on, off or unavailable, and why",
		Long: `List toolsets: what is on, off or unavailable, and why; MCP servers, with what keeps one from being connected; and the
decisions that were given for always.

A served profile is asked; else its configuration is read, which cannot tell what depends on a running agent.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := c.toolsOverview(cmd.Context(), *f)
			if err != nil {
				return err
			}
			return c.printTools(*f, o, func() (string, error) { return toolview.Render(o, f.all), nil })
		},
	}
	f.readFlags(command)
	command.Flags().BoolVar(&f.all, "all", false, "also toolsets that have no tools in this version")
	return command
}

func newToolsShow(c *cli, f *toolsFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one toolset with its tools, or one tool",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.toolsOverview(cmd.Context(), *f)
			if err != nil {
				return err
			}
			return c.printTools(*f, narrowed(o, args[0]), func() (string, error) {
				text, ok := toolview.RenderOne(o, args[0])
				if !ok {
					return "", exit.Usagef("there is no toolset and no tool %q: hermes tools list --all shows them", args[0])
				}
				return text, nil
			})
		},
	}
	f.readFlags(command)
	return command
}

// narrowed keeps the toolset or the tool of a name.
func narrowed(o tools.Overview, name string) tools.Overview {
	out := tools.Overview{Toolsets: []tools.ToolsetInfo{}, Tools: []tools.ToolInfo{}, Approvals: []tools.Approval{}, Served: o.Served}
	members := map[string]bool{name: true}
	for _, t := range o.Toolsets {
		if t.Name == name {
			out.Toolsets = append(out.Toolsets, t)
			for _, m := range t.Tools {
				members[m] = true
			}
		}
	}
	for _, s := range o.Servers {
		if s.Name == name || tools.ServerToolset(s.Name) == name {
			out.Servers = append(out.Servers, s)
		}
	}
	for _, t := range o.Tools {
		if members[t.Name] {
			out.Tools = append(out.Tools, t)
		}
	}
	return out
}

func (c *cli) printTools(f toolsFlags, o tools.Overview, table func() (string, error)) error {
	switch f.output {
	case "json":
		return printJSON(c, o)
	case "yaml":
		raw, err := yaml.Marshal(o)
		if err == nil {
			_, err = c.out.Write(raw)
		}
		return err
	case "name":
		for _, t := range o.Toolsets {
			if t.State == tools.StateOn {
				fmt.Fprintln(c.out, t.Name)
			}
		}
		return nil
	case "", "table", "wide":
		text, err := table()
		if err == nil {
			_, err = io.WriteString(c.out, text)
		}
		return err
	}
	return exit.Usagef("-o %s: use table, json, yaml or name", f.output)
}

func newToolsToggle(c *cli, f *toolsFlags, verb, short string, decide func(*v1alpha1.Profile, string) (toolview.Change, error)) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " TOOLSET...",
		Short: short,
		Long: short + `, by editing spec.toolsets and spec.disabledToolsets of the Profile.

The edit is a server-side apply of field manager hermes-tools: it owns the entries it adds and never touches those of
another manager. Where another one stands in the way, the error names it.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := c.toggleToolset(cmd.Context(), *f, verb, name, decide); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (c *cli) toggleToolset(ctx context.Context, f toolsFlags, verb, name string, decide func(*v1alpha1.Profile, string) (toolview.Change, error)) error {
	client, api, namespace, err := c.api()
	if err != nil {
		return err
	}
	p, err := profileNamed(ctx, api, namespace, f.Profile)
	if err != nil {
		return client.Explain(err)
	}
	if err := toolview.CheckName(p, name); err != nil {
		return exit.Usagef("%w", err)
	}
	change, err := decide(p, name)
	if err != nil {
		return err
	}
	if !change.Changed {
		fmt.Fprintf(c.out, "profile/%s: toolset %s is %sd already\n", p.Name, name, verb)
		return nil
	}
	raw, err := json.Marshal(change.Declaration(p))
	if err != nil {
		return err
	}
	err = api.Patch(types.ApplyPatchType).Namespace(namespace).Resource("profiles").Name(p.Name).
		Param("fieldManager", toolview.FieldManager).Body(raw).Do(ctx).Error()
	if err != nil {
		return client.Explain(err)
	}
	fmt.Fprintf(c.out, "profile/%s: toolset %s %sd\n", p.Name, name, verb)
	if change.Note != "" {
		fmt.Fprintln(c.err, "note: "+change.Note)
	}
	return nil
}

// profileNamed reads the named Profile, or the only one, or the one named default.
func profileNamed(ctx context.Context, api rest.Interface, namespace, name string) (*v1alpha1.Profile, error) {
	if name == "" {
		var list v1alpha1.ProfileList
		if err := api.Get().Namespace(namespace).Resource("profiles").Do(ctx).Into(&list); err != nil {
			return nil, err
		}
		names := make([]string, len(list.Items))
		for i := range list.Items {
			names[i] = list.Items[i].Name
		}
		picked, err := reach.Pick(names, "", "in namespace "+namespace)
		if err != nil {
			return nil, err
		}
		return &list.Items[slices.Index(names, picked)], nil
	}
	p := &v1alpha1.Profile{}
	err := api.Get().Namespace(namespace).Resource("profiles").Name(name).Do(ctx).Into(p)
	if apierrors.IsNotFound(err) {
		return nil, exit.Usagef("there is no Profile %q in namespace %s: see hermes get profiles", name, namespace)
	}
	return p, err
}
