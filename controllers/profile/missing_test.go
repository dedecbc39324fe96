package profile

import (
	"testing"

	"hermes.dev/hermes/runtime/home"
)

// A missing key is named beside the keys that are there; values never are.
func TestMissingText(t *testing.T) {
	values := home.Resolved{
		Secrets: map[string]map[string][]byte{
			"typo": {"APIKEY": []byte("hunter2")}, "empty": {}, "blank": {"API_KEY": nil, "X": nil},
			"many": {"g": nil, "f": nil, "e": nil, "d": nil, "c": nil, "b": nil, "a": nil},
		},
		ConfigMaps: map[string]map[string][]byte{"typo": {"soul.md": nil}},
	}
	for name, tc := range map[string]struct {
		ref  home.MissingRef
		want string
	}{
		"another key":    {home.MissingRef{Kind: home.KindSecret, Name: "typo", Key: "API_KEY", Field: "f"}, `Secret "typo" has no value for key "API_KEY" (f), it has APIKEY`},
		"no key at all":  {home.MissingRef{Kind: home.KindSecret, Name: "empty", Key: "API_KEY", Field: "f"}, `Secret "empty" has no value for key "API_KEY" (f)`},
		"an empty value": {home.MissingRef{Kind: home.KindSecret, Name: "blank", Key: "API_KEY", Field: "f"}, `Secret "blank" has no value for key "API_KEY" (f)`},
		"many keys":      {home.MissingRef{Kind: home.KindSecret, Name: "many", Key: "k", Field: "f"}, `Secret "many" has no value for key "k" (f), it has a, b, c, d, e and 2 more`},
		"a ConfigMap":    {home.MissingRef{Kind: home.KindConfigMap, Name: "typo", Key: "SOUL.md", Field: "f"}, `ConfigMap "typo" has no value for key "SOUL.md" (f), it has soul.md`},
		"not there":      {home.MissingRef{Kind: home.KindSecret, Name: "none", Key: "k", Field: "f", NotFound: true}, `Secret "none" does not exist (f)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missingText(tc.ref, keysOf(values, tc.ref)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
