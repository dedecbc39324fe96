package conformance

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
)

// kinds are the specs whose every leaf field must have an effect.
var kinds = map[string]reflect.Type{
	"Profile":        reflect.TypeFor[v1alpha1.ProfileSpec](),
	"Gateway":        reflect.TypeFor[v1alpha1.GatewaySpec](),
	"RelayIdentity":  reflect.TypeFor[v1alpha1.RelayIdentitySpec](),
	"MetricsConsent": reflect.TypeFor[v1alpha1.MetricsConsentSpec](),
	"Schedule":       reflect.TypeFor[v1alpha1.ScheduleSpec](),
}

// fieldsWithoutEffectYet lists, by prefix, the fields that are accepted and stored
// and that nothing acts on in this version, with why. A field leaves the list by
// getting an effect test; the list cannot grow without a reason.
var fieldsWithoutEffectYet = map[string]string{
	"Gateway.backend": "the HTTP backend comes with the API server of the gateway; the local socket is always there",
	"Gateway.relay":   "the relay transport comes with runtime/relay",
	"Gateway.pod":     "engine Kubernetes comes with controllers/engine/kubernetes; until then EngineUnavailable says so",
	"RelayIdentity.":  "NotImplemented is reported; only profileRef is looked at",
	"MetricsConsent.": "NotImplemented is reported; only profileRef is looked at",
}

// leaves lists the leaf fields of a spec type by their JSON paths.
func leaves(prefix string, t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return leaves(prefix, t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return leaves(prefix+"[]", t.Elem())
		}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Struct {
			return leaves(prefix+".*", t.Elem())
		}
	case reflect.Struct:
		if t.PkgPath() != reflect.TypeFor[v1alpha1.ProfileSpec]().PkgPath() {
			return []string{prefix} // a duration, a quantity or free-form JSON
		}
		var out []string
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			out = append(out, leaves(prefix+"."+name, t.Field(i).Type)...)
		}
		return out
	}
	return []string{prefix}
}

// Every leaf field has an effect test, or stands on the list with its reason, and not both.
func TestEveryFieldHasAnEffect(t *testing.T) {
	used := map[string]bool{}
	known := map[string]bool{}
	for kind, typ := range kinds {
		for _, path := range leaves(kind, typ) {
			known[path] = true
			covered := effects()[path]
			listed := slices.ContainsFunc(sortedKeys(fieldsWithoutEffectYet), func(prefix string) bool {
				if !strings.HasPrefix(path, prefix) {
					return false
				}
				if !covered {
					used[prefix] = true
				}
				return true
			})
			if !covered && !listed {
				t.Errorf("%s has no effect test: add one, or say in fieldsWithoutEffectYet why it has none", path)
			}
		}
	}
	for prefix, why := range fieldsWithoutEffectYet {
		if !used[prefix] || why == "" {
			t.Errorf("fieldsWithoutEffectYet names %s (%s), which has an effect or does not exist: remove it", prefix, why)
		}
	}
	for path := range effects() {
		if !known[path] {
			t.Errorf("an effect is claimed for %s, which is no field", path)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
