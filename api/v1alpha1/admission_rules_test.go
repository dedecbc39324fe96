package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ruleCase tries one CEL rule of one kind: an object that it lets through and
// objects that it refuses.
type ruleCase struct {
	kind string
	// path of the schema node that carries the rule, with * for a map's values and [] for a list's items.
	path string
	// message is enough of the rule's message to tell it from the others of that node.
	message string
	// from is laid over the base first.
	from []change
	// accept is laid over that and must be accepted.
	accept []change
	// refuse holds the refused variations.
	refuse []refusal
	// update tries the variations as updates of a stored object, for rules that compare with the old value.
	update bool
}

type refusal struct {
	changes []change
	// name of the object; empty means a valid one.
	name string
	// field that the refusal must name.
	field string
}

func refused(field string, changes ...change) refusal { return refusal{field: field, changes: changes} }

func ruleCases() []ruleCase {
	return append(append(profileRules, gatewayRules...), otherRules...)
}

func TestCELRules(t *testing.T) {
	rules := celRules(t)
	for i, c := range ruleCases() {
		t.Run(fmt.Sprintf("%s %s %s", c.kind, c.path, c.message), func(t *testing.T) {
			rule, ok := c.find(rules)
			if !ok {
				t.Fatalf("no rule of %s at %q says %q: change the case", c.kind, c.path, c.message)
			}
			name := fmt.Sprintf("rule-%d", i)
			accepted := object(t, c.kind, name, append(append([]change{}, c.from...), c.accept...)...)
			mustAdmit(t, accepted)
			if c.update {
				stored := object(t, c.kind, name, c.from...)
				if err := api.client.Create(t.Context(), stored); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = api.client.Delete(t.Context(), stored) })
				accepted.SetResourceVersion(stored.GetResourceVersion())
				if err := api.client.Update(t.Context(), accepted, client.DryRunAll); err != nil {
					t.Errorf("an update that should be accepted was refused: %v", err)
				}
			}
			for _, r := range c.refuse {
				c.try(t, rule, name, r)
			}
		})
	}
}

func (c ruleCase) try(t *testing.T, rule apiextensionsv1.ValidationRule, name string, r refusal) {
	t.Helper()
	if r.name != "" {
		name = r.name
	}
	u := object(t, c.kind, name, append(append([]change{}, c.from...), r.changes...)...)
	if !c.update {
		mustRefuse(t, admit(t, u), r.field, rule.Message)
		return
	}
	stored := object(t, c.kind, name)
	if err := api.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	u.SetResourceVersion(stored.GetResourceVersion())
	mustRefuse(t, api.client.Update(t.Context(), u, client.DryRunAll), r.field, rule.Message)
}

func (c ruleCase) find(rules []celRule) (apiextensionsv1.ValidationRule, bool) {
	var found []apiextensionsv1.ValidationRule
	for _, r := range rules {
		if c.matches(r) {
			found = append(found, r.ValidationRule)
		}
	}
	if len(found) != 1 {
		return apiextensionsv1.ValidationRule{}, false
	}
	return found[0], true
}

func (c ruleCase) matches(r celRule) bool {
	return r.kind == c.kind && r.path == c.path && strings.Contains(r.Message, c.message)
}

// A rule without a case fails here, so none can be added untested.
func TestEveryCELRuleHasACase(t *testing.T) {
	cases := ruleCases()
	for _, r := range celRules(t) {
		n := 0
		for _, c := range cases {
			if c.matches(r) && len(c.refuse) > 0 {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s %s: the rule %q has no case in the admission tests", r.kind, r.path, r.Message)
		}
	}
}

// A refusal that does not say what to change is of no use to the person who reads it.
func TestEveryCELRuleSaysWhatToDo(t *testing.T) {
	advice := []string{"set ", "remove", "must", "choose", "create a new", "name ", "needs", "cannot", "use ", "is relative", "is given for", "not both"}
	for _, r := range celRules(t) {
		if r.Message == "" || !containsAny(r.Message, advice) {
			t.Errorf("%s %s: message %q does not say what to change", r.kind, r.path, r.Message)
		}
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

type celRule struct {
	apiextensionsv1.ValidationRule
	kind, path string
}

// celRules lists every rule of every CRD.
func celRules(t *testing.T) []celRule {
	t.Helper()
	var out []celRule
	for kind, crd := range crds(t) {
		walk(schemaOf(crd), "", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for _, r := range s.XValidations {
				out = append(out, celRule{ValidationRule: r, kind: kind, path: path})
			}
		})
	}
	if len(out) == 0 {
		t.Fatal("no CEL rules in config/crd/bases")
	}
	return out
}

// walk visits a schema and everything below it.
func walk(s *apiextensionsv1.JSONSchemaProps, path string, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for name := range s.Properties {
		p := s.Properties[name]
		walk(&p, strings.TrimPrefix(path+"."+name, "."), visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+".*", visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, path+"[]", visit)
	}
}
