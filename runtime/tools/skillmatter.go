package tools

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// skillMeta is the front matter of a SKILL.md, as far as it decides anything.
type skillMeta struct {
	Name, Description string
	// Platforms are hard: elsewhere the skill cannot work.
	Platforms []string
	// Environments and RequiresApps decide only whether it is offered.
	Environments, RequiresApps       []string
	RequiresToolsets, RequiresTools  []string
	FallbackToolsets, FallbackTools  []string
	RequiredVariables, RequiredFiles []string
	// Degraded says why the front matter was read line by line.
	Degraded string
}

// parseSkill takes a SKILL.md apart. A BOM is dropped; YAML that cannot be parsed is read as key: value lines, so that
// one mistake does not take all gates away.
//
// Implements T20.
func parseSkill(text string) (meta skillMeta, body string) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	matter, body, ok := cutMatter(text)
	if !ok {
		return skillMeta{}, text
	}
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(matter), &keys); err != nil {
		keys = keyValueLines(matter)
		meta.Degraded = "its front matter is no valid YAML: " + oneLine(err.Error())
	}
	hermes := asMap(asMap(keys["metadata"])["hermes"])
	either := func(name string) []string {
		if v, ok := hermes[name]; ok {
			return asStrings(v)
		}
		return asStrings(keys[name])
	}
	meta.Name, meta.Description = asText(keys["name"]), flat(asText(keys["description"]))
	meta.Platforms, meta.Environments, meta.RequiresApps = asStrings(keys["platforms"]), asStrings(keys["environments"]), asStrings(keys["requires_apps"])
	meta.RequiresToolsets, meta.RequiresTools = either("requires_toolsets"), either("requires_tools")
	meta.FallbackToolsets, meta.FallbackTools = either("fallback_for_toolsets"), either("fallback_for_tools")
	meta.RequiredVariables, meta.RequiredFiles = asStrings(keys["required_environment_variables"]), asStrings(keys["required_credential_files"])
	return meta, body
}

// cutMatter splits at the line --- that ends the front matter.
func cutMatter(text string) (matter, body string, ok bool) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false
	}
	if body, ok = strings.CutPrefix(rest, "---\n"); ok {
		return "", body, true
	}
	matter, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		matter, ok = strings.CutSuffix(rest, "\n---")
	}
	return matter, body, ok
}

// keyValueLines reads what a YAML parser would not: top-level "key: value", a value in [a, b] being a list, and lists
// of "- item" lines below a key.
func keyValueLines(matter string) map[string]any {
	out, key := map[string]any{}, ""
	for line := range strings.SplitSeq(matter, "\n") {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && key != "" {
			list, _ := out[key].([]any)
			out[key] = append(list, unquote(item))
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.ContainsAny(name, " \t#") {
			continue
		}
		key, value = name, strings.TrimSpace(value)
		if inner, ok := strings.CutPrefix(value, "["); ok {
			var list []any
			for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
				if item = unquote(item); item != "" {
					list = append(list, item)
				}
			}
			out[key] = list
		} else if value != "" {
			out[key] = unquote(value)
		}
	}
	return out
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asText(v any) string {
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return ""
	case string:
		return strings.TrimSpace(v)
	default:
		return fmt.Sprint(v)
	}
}

// asStrings takes a list, or one value where a list is meant; an entry that is an object counts by its name.
func asStrings(v any) []string {
	list, ok := v.([]any)
	if !ok {
		if v == nil {
			return nil
		}
		list = []any{v}
	}
	var out []string
	for _, e := range list {
		if m := asMap(e); m != nil {
			e = m["name"]
		}
		if s := asText(e); s != "" {
			out = append(out, s)
		}
	}
	return slices.Clip(out)
}
