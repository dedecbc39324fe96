package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

// addCompletions gives the verbs that take names of objects, and every -p that means a declared profile, their values.
// What cannot be asked, because no control plane runs, has none.
func (c *cli) addCompletions(root *cobra.Command) {
	profiles, objects := c.completeNames("profile", 1), c.completeObjects
	for path, complete := range map[string]cobra.CompletionFunc{
		"profile backup": profiles, "profile restore": profiles, "profile show": profiles,
		"gateway restart": c.completeNames("gateway", 1),
		"get":             objects, "delete": objects, "status": objects,
	} {
		if command, rest, err := root.Find(strings.Fields(path)); err == nil && len(rest) == 0 {
			command.ValidArgsFunction = complete
		}
	}
	for _, verb := range []string{"chat", "profile backup", "profile restore", "sessions", "tools"} {
		command, rest, err := root.Find(strings.Fields(verb))
		if err != nil || len(rest) > 0 {
			continue
		}
		if err := command.RegisterFlagCompletionFunc("profile", c.completeNames("profile", 0)); err != nil {
			panic(err) // the verb has the flag
		}
	}
}

// completeNames offers the names of the objects of a kind, for so many arguments; 0 is any number.
func (c *cli) completeNames(kind string, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.objectNames(cmd.Context(), kind, "", begun, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTools offers the toolsets of the profile, and for show its tools.
func (c *cli) completeTools(f *toolsFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		show := cmd.Name() == "show"
		o, err := c.toolsOverview(cmd.Context(), *f)
		if err != nil || show && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offers []cobra.Completion
		for _, t := range o.Toolsets {
			if strings.HasPrefix(t.Name, begun) && !slices.Contains(args, t.Name) {
				offers = append(offers, cobra.CompletionWithDesc(t.Name, string(t.State)))
			}
		}
		for _, t := range o.Tools {
			if show && strings.HasPrefix(t.Name, begun) {
				offers = append(offers, t.Name)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeObjects offers KIND, then NAME or NAMEs of it, and KIND/NAME.
func (c *cli) completeObjects(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kind, _, slash := strings.Cut(begun, "/")
	switch {
	case slash:
		return c.objectNames(cmd.Context(), kind, kind+"/", begun, args), cobra.ShellCompDirectiveNoFileComp
	case len(args) > 0:
		return c.objectNames(cmd.Context(), args[0], "", begun, args[1:]), cobra.ShellCompDirectiveNoFileComp
	}
	var offers []cobra.Completion
	end, directive := "", cobra.ShellCompDirectiveNoFileComp
	if cmd.Name() == "status" { // it is about one object
		end, directive = "/", directive|cobra.ShellCompDirectiveNoSpace
	}
	for _, k := range kube.Kinds() {
		if name := strings.ToLower(k.Kind); strings.HasPrefix(name, begun) {
			offers = append(offers, name+end)
		}
	}
	return offers, directive
}

// objectNames are the names of a kind's objects that continue what was begun, each after lead, without those that are
// on the command line already.
func (c *cli) objectNames(ctx context.Context, kind, lead, begun string, taken []string) []cobra.Completion {
	known, ok := kube.LookupKind(kind)
	if !ok {
		return nil
	}
	_, api, namespace, err := c.api()
	if err != nil {
		return nil
	}
	list := known.NewList()
	if err := api.Get().Namespace(namespace).Resource(known.Resource).Do(ctx).Into(list); err != nil {
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil
	}
	var offers []cobra.Completion
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			continue
		}
		if name := lead + object.GetName(); strings.HasPrefix(name, begun) && !slices.Contains(taken, name) {
			offers = append(offers, name)
		}
	}
	return offers
}
