package v1alpha1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// variants are the accepted objects of each kind that together use every field.
var variants = map[string][][]change{
	"Profile": {
		nil,
		{set("spec.identity", `{soulFrom: {secretKeyRef: {name: a, key: b}}}`)},
		{set("spec.identity", `{soulFrom: {configMapKeyRef: {name: a, key: b}}}`)},
	},
	"Gateway": {
		nil, processGateway, {clientCredentials}, {ambient},
		{set("spec.pod.storage", `{existingClaim: homes}`)},
	},
	"RelayIdentity":  {nil},
	"MetricsConsent": {nil},
	"Schedule":       {nil},
}

// violation is one value that one validation of a schema refuses.
type violation struct {
	kind, schemaPath, rule string
	// variant is the accepted object that the change is laid over.
	variant []change
	change  change
	// field and message are what the refusal must say.
	field, message string
}

// TestValidations breaks every validation of every field once, in an object that is otherwise accepted.
func TestValidations(t *testing.T) {
	for kind, list := range variants {
		for i, v := range list {
			mustAdmit(t, object(t, kind, fmt.Sprintf("base-%d", i), v...))
		}
	}
	all := violations(t)
	if len(all) < 200 {
		t.Fatalf("only %d validations found in the CRDs: the walk is broken", len(all))
	}
	for _, v := range all {
		t.Run(v.kind+" "+v.schemaPath+" "+v.rule, func(t *testing.T) {
			mustRefuse(t, admit(t, object(t, v.kind, "broken", append(slices.Clone(v.variant), v.change)...)), v.field, v.message)
		})
	}
}

// violations derives the refused values from the CRDs. Every field of a spec
// must be in one of the variants, so that its validations can be tried.
func violations(t *testing.T) []violation {
	t.Helper()
	var out []violation
	for kind, crd := range crds(t) {
		spec := schemaOf(crd).Properties["spec"]
		walk(&spec, "spec", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			at, variant, ok := locate(t, kind, path)
			if !ok {
				t.Errorf("%s %s: no accepted object of the admission tests uses this field", kind, path)
				return
			}
			for _, v := range breaks(s, at) {
				v.kind, v.schemaPath, v.variant = kind, path, variant
				out = append(out, v)
			}
		})
	}
	return out
}

// locate finds a place of the schema node in one of the kind's variants.
func locate(t *testing.T, kind, schemaPath string) (string, []change, bool) {
	t.Helper()
	segments := strings.Split(strings.ReplaceAll(schemaPath, "[]", ".[]"), ".")
	for _, v := range variants[kind] {
		u := object(t, kind, "x", v...)
		if at, ok := find(u.Object, segments); ok {
			return at, v, true
		}
	}
	return "", nil, false
}

func find(at any, segments []string) (string, bool) {
	if len(segments) == 0 {
		return "", true
	}
	try := func(prefix string, next any) (string, bool) {
		rest, ok := find(next, segments[1:])
		if !ok {
			return "", false
		}
		if rest != "" && !strings.HasPrefix(rest, "[") {
			rest = "." + rest
		}
		return prefix + rest, true
	}
	switch holder := at.(type) {
	case map[string]any:
		for name, next := range holder {
			if segments[0] != name && segments[0] != "*" {
				continue
			}
			if p, ok := try(name, next); ok {
				return p, true
			}
		}
	case []any:
		for i, next := range holder {
			if p, ok := try(fmt.Sprintf("[%d]", i), next); ok && segments[0] == "[]" {
				return p, true
			}
		}
	}
	return "", false
}

// breaks lists one refused value for each validation of a schema node.
func breaks(s *apiextensionsv1.JSONSchemaProps, at string) []violation {
	var out []violation
	add := func(rule string, value any, message string) {
		out = append(out, violation{rule: rule, change: change{path: at, value: value}, field: at, message: message})
	}
	if s.MaxLength != nil {
		add("maxLength", strings.Repeat("a", int(*s.MaxLength)+1), fmt.Sprint(*s.MaxLength))
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		add("minLength", "", "at least")
	}
	if s.Pattern != "" {
		add("pattern", "!", s.Pattern)
	}
	if s.Enum != nil {
		add("enum", "Other", "supported values")
	}
	if s.Minimum != nil {
		add("minimum", int64(*s.Minimum)-1, "greater than or equal to")
	}
	if s.Maximum != nil {
		add("maximum", int64(*s.Maximum)+1, "less than or equal to")
	}
	if s.Format == "int32" {
		out = append(out, violation{rule: "format", change: change{at, int64(1) << 40}, field: "<nil>", message: "format int32 in " + at})
	}
	if s.XPreserveUnknownFields != nil {
		add("type", []any{"a list"}, "must be of type")
	}
	if s.Type == "string" || s.Type == "integer" || s.Type == "boolean" {
		add("type", map[string]any{"a": "b"}, "must be of type")
	}
	return append(out, breaksOfCollections(s, at)...)
}

func breaksOfCollections(s *apiextensionsv1.JSONSchemaProps, at string) []violation {
	var out []violation
	if s.MaxItems != nil {
		out = append(out, violation{rule: "maxItems", change: change{at, many(s.Items.Schema, int(*s.MaxItems)+1)}, field: at, message: fmt.Sprint(*s.MaxItems)})
	}
	if s.MaxProperties != nil {
		values := map[string]any{}
		for i := range int(*s.MaxProperties) + 1 {
			values[fmt.Sprintf("k%d", i)] = example(s.AdditionalProperties.Schema, 0)
		}
		out = append(out, violation{rule: "maxProperties", change: change{at, values}, field: at, message: fmt.Sprint(*s.MaxProperties)})
	}
	if s.XListType != nil && (*s.XListType == "set" || *s.XListType == "map") {
		item := example(s.Items.Schema, 0)
		out = append(out, violation{rule: "unique", change: change{at, []any{item, item}}, field: at + "[1]", message: "Duplicate value"})
	}
	for _, name := range s.Required {
		out = append(out, violation{rule: "required " + name, change: remove(at + "." + name), field: at + "." + name, message: "Required value"})
	}
	return out
}

func many(s *apiextensionsv1.JSONSchemaProps, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = example(s, i)
	}
	return out
}

// example is a value of a schema's type with its required fields, different for each n.
func example(s *apiextensionsv1.JSONSchemaProps, n int) any {
	switch s.Type {
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			p := s.Properties[name]
			out[name] = example(&p, n)
		}
		return out
	case "string":
		return fmt.Sprintf("a%d", n)
	default:
		return int64(n)
	}
}
