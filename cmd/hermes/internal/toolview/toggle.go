package toolview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/tools"
)

// FieldManager owns what hermes tools enable and disable declare. The two lists are sets, so it owns entries and not
// whole lists: those of other managers stay.
const FieldManager = "hermes-tools"

// Lists are the entries of the two lists of a Profile.
type Lists struct {
	Toolsets, Disabled []string
}

// Change is what a toggle declares from now on.
type Change struct {
	// Own is everything the field manager declares.
	Own Lists
	// Changed is false when nothing has to be written.
	Changed bool
	Note    string
}

// Own reads what the field manager declares in a Profile.
func Own(p *v1alpha1.Profile) (Lists, error) {
	var own Lists
	for _, entry := range p.ManagedFields {
		if entry.Manager != FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec struct {
				Toolsets map[string]any `json:"f:toolsets"`
				Disabled map[string]any `json:"f:disabledToolsets"`
			} `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return own, fmt.Errorf("read the managed fields of profile %s: %w", p.Name, err)
		}
		own.Toolsets, own.Disabled = setEntries(fields.Spec.Toolsets), setEntries(fields.Spec.Disabled)
	}
	return own, nil
}

// setEntries are the values of a set in managed fields: keys like v:"web".
func setEntries(fields map[string]any) []string {
	var out []string
	for key := range fields {
		var value string
		if raw, ok := strings.CutPrefix(key, "v:"); ok && json.Unmarshal([]byte(raw), &value) == nil {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return out
}

// Others lists the managers besides ours that declare an entry, so that a person knows whose it is.
func others(p *v1alpha1.Profile, list, name string) []string {
	var out []string
	for _, entry := range p.ManagedFields {
		if entry.Manager == FieldManager || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]map[string]any `json:"f:spec"`
		}
		// A field that is no map fails alone; what was read before it counts.
		_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
		if slices.Contains(setEntries(fields.Spec["f:"+list]), name) {
			out = append(out, entry.Manager)
		}
	}
	return out
}

// CheckName refuses a name that would make the Profile's configuration invalid: it is no toolset of this version, of the
// Profile's custom ones, or of an MCP server.
func CheckName(p *v1alpha1.Profile, name string) error {
	var config struct {
		Custom map[string]tools.CustomToolset `json:"custom_toolsets"`
	}
	if p.Spec.Config != nil {
		// What is wrong with the rest of it shows in the Profile's conditions.
		_ = json.Unmarshal(p.Spec.Config.Raw, &config)
	}
	if _, custom := config.Custom[name]; custom {
		return nil
	}
	if _, server := p.Spec.MCPServers[name]; server {
		return nil
	}
	return tools.CheckSelection(tools.Config{Toolsets: []string{name}})
}

// Enable decides what to declare so that a toolset is on.
func Enable(p *v1alpha1.Profile, name string) (Change, error) {
	own, err := Own(p)
	if err != nil {
		return Change{}, err
	}
	c := Change{Own: own}
	if slices.Contains(p.Spec.DisabledToolsets, name) {
		if who := others(p, "disabledToolsets", name); len(who) > 0 || !slices.Contains(own.Disabled, name) {
			return Change{}, foreign(p, "disabledToolsets", name, who)
		}
		c.Own.Disabled = without(own.Disabled, name)
		c.Changed = true
	}
	on := len(p.Spec.Toolsets) == 0 || slices.Contains(p.Spec.Toolsets, "all") || slices.Contains(p.Spec.Toolsets, "*")
	if slices.Contains(p.Spec.Toolsets, name) || (on && !optIn(name)) {
		return c, nil
	}
	if len(p.Spec.Toolsets) == 0 {
		// An opt-in toolset beside everything: an empty list means all, one with a name means that name.
		c.Own.Toolsets = with(c.Own.Toolsets, "all")
	}
	c.Own.Toolsets, c.Changed = with(c.Own.Toolsets, name), true
	return c, nil
}

// Disable decides what to declare so that a toolset is off. A disabled one stays off whatever selects it.
func Disable(p *v1alpha1.Profile, name string) (Change, error) {
	own, err := Own(p)
	if err != nil {
		return Change{}, err
	}
	c := Change{Own: own}
	if slices.Contains(own.Toolsets, name) {
		c.Own.Toolsets, c.Changed = without(own.Toolsets, name), true
		if len(p.Spec.Toolsets) == len(own.Toolsets) && len(c.Own.Toolsets) == 0 {
			c.Note = "nothing is named in spec.toolsets now, so every toolset that is not opt-in is on"
		}
	}
	if !slices.Contains(p.Spec.DisabledToolsets, name) {
		c.Own.Disabled, c.Changed = with(own.Disabled, name), true
	}
	return c, nil
}

func foreign(p *v1alpha1.Profile, list, name string, who []string) error {
	by := "another field manager"
	if len(who) > 0 {
		by = "field manager " + strings.Join(who, " and ")
	}
	return fmt.Errorf("%q stands in spec.%s of profile %s by %s: take it out where that is declared (a manifest, a Nix module, kubectl)", name, list, p.Name, by)
}

func optIn(name string) bool {
	o, err := tools.Survey(tools.Config{})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(o.Toolsets, func(t tools.ToolsetInfo) bool { return t.Name == name && t.OptIn })
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
}

func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	out := append(slices.Clone(list), name)
	slices.Sort(out)
	return out
}

// Declaration is the object to apply: the identity of the Profile, and everything the field manager declares. The uid
// keeps a Profile that was deleted meanwhile from being made again.
func (c Change) Declaration(p *v1alpha1.Profile) map[string]any {
	spec := map[string]any{}
	if len(c.Own.Toolsets) > 0 {
		spec["toolsets"] = c.Own.Toolsets
	}
	if len(c.Own.Disabled) > 0 {
		spec["disabledToolsets"] = c.Own.Disabled
	}
	o := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Profile",
		"metadata": map[string]any{"name": p.Name, "namespace": p.Namespace, "uid": string(p.UID)},
	}
	if len(spec) > 0 {
		o["spec"] = spec
	}
	return o
}
