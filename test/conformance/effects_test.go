package conformance

import (
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// fullProfile uses every field that reaches the rendered home.
const fullProfile = `
gatewayRef: {name: gw}
model:
  provider: custom
  name: m
  baseURL: http://127.0.0.1:1/v1
  credentials: [{secretKeyRef: {name: keys, key: a}}]
  fallbacks: [{provider: custom, name: n, baseURL: "http://127.0.0.1:2/v1", credentials: [{secretKeyRef: {name: keys, key: b}}]}]
  cacheTTL: 1h
  contextWindow: 2048
homeFiles:
  a: {content: text}
  b: {from: {secretKeyRef: {name: keys, key: a}}}
  c: {from: {configMapKeyRef: {name: maps, key: a}}}
workspace:
  directory: /w
  documents:
    a: {content: text}
    b: {from: {secretKeyRef: {name: keys, key: a}}}
    c: {from: {configMapKeyRef: {name: maps, key: a}}}
env:
- {name: A, value: x}
- {name: B, valueFrom: {secretKeyRef: {name: keys, key: a}}}
- {name: C, valueFrom: {configMapKeyRef: {name: maps, key: a}}}
envFrom: [{prefix: P_, secretRef: {name: keys}}, {prefix: Q_, configMapRef: {name: maps}}]
toolsets: [file]
disabledToolsets: [web]
mcpServers:
  l:
    command: c
    args: [x]
    env:
    - {name: A, value: x}
    - {name: B, valueFrom: {secretKeyRef: {name: keys, key: a}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: maps, key: a}}}
    timeout: 5s
    disabled: true
    tools: {include: [a], exclude: [b]}
  r:
    url: http://127.0.0.1:3
    headers:
    - {name: A, value: x}
    - {name: B, valueFrom: {secretKeyRef: {name: keys, key: a}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: maps, key: a}}}
plugins: [p]
skills: [s]
cron: {maxParallelJobs: 2, timezone: Europe/Berlin, catchUpMissed: false}
config: {display: {compact: true}}
approvals: {mode: Deny, allow: [x]}
peers: {allow: [bob]}
backup: {schedule: "0 3 * * *", keep: 5}
suspended: true
`

var values = home.Resolved{
	Secrets:    map[string]map[string][]byte{"keys": {"a": []byte("1"), "b": []byte("2"), "changed": []byte("3")}, "changed": {"a": []byte("4"), "b": []byte("5")}},
	ConfigMaps: map[string]map[string][]byte{"maps": {"a": []byte("6"), "changed": []byte("7")}, "changed": {"a": []byte("8")}},
}

func full(t *testing.T, extra string) *v1alpha1.Profile {
	t.Helper()
	p := profile("alice")
	if err := yaml.UnmarshalStrict([]byte(fullProfile+extra), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

// souls are the three forms of an identity, which exclude each other.
var souls = []string{
	"identity: {soul: x}", "identity: {soulFrom: {secretKeyRef: {name: keys, key: a}}}", "identity: {soulFrom: {configMapKeyRef: {name: maps, key: a}}}",
}

// TestProfileFieldsReachTheHome changes each leaf of a Profile that uses every
// field: the rendered home, or the refusal to render, must differ each time.
func TestProfileFieldsReachTheHome(t *testing.T) {
	tried := map[string]bool{}
	for _, soul := range souls {
		before, err := home.Render(full(t, soul), values)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		visit(reflect.ValueOf(&full(t, soul).Spec).Elem(), "Profile", func(string, reflect.Value) bool { n++; return false })
		for i := range n {
			p, at, path := full(t, soul), 0, ""
			visit(reflect.ValueOf(&p.Spec).Elem(), "Profile", func(leaf string, v reflect.Value) bool {
				if at++; at != i+1 {
					return false
				}
				path = leaf
				alter(v)
				return true
			})
			after, err := home.Render(p, values)
			if err == nil && after.Hash() == before.Hash() {
				if rendered()[path] {
					t.Errorf("%s: a change does not reach the home", path)
				}
				continue
			}
			tried[path] = true
		}
	}
	for path := range rendered() {
		if !tried[path] {
			t.Errorf("%s: no change of it was seen to reach the home", path)
		}
	}
}

// visit calls f for each leaf that is set, in a stable order, and stops when f returns true.
func visit(v reflect.Value, path string, f func(string, reflect.Value) bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && visit(v.Elem(), path, f)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return v.Len() > 0 && f(path, v)
		}
		for i := range v.Len() {
			if visit(v.Index(i), path+"[]", f) {
				return true
			}
		}
		return false
	case reflect.Map:
		for _, key := range []string{"a", "b", "c", "l", "r"} {
			k := reflect.ValueOf(key)
			if !v.MapIndex(k).IsValid() {
				continue
			}
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			if visit(item, path+".*", f) {
				v.SetMapIndex(k, item)
				return true
			}
		}
		return false
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[v1alpha1.ProfileSpec]().PkgPath() {
			return f(path, v)
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if visit(v.Field(i), path+"."+name, f) {
				return true
			}
		}
		return false
	}
	return !v.IsZero() && f(path, v) || v.Kind() == reflect.Bool && v.IsZero() && strings.HasSuffix(path, "catchUpMissed") && f(path, v)
}

// alter gives a leaf another value.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("changed")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1_000_000_000)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf([]string{"changed"}))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[apiextensionsv1.JSON]() {
			v.Set(reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(`{"display":{"compact":false}}`)}))
			return
		}
		alter(v.Field(0)) // a duration
	}
}

// rendered lists the fields of a Profile whose effect is the rendered home.
func rendered() map[string]bool {
	out := map[string]bool{}
	for _, path := range leaves("Profile", kinds["Profile"]) {
		if path != "Profile.deletionPolicy" {
			out[path] = true
		}
	}
	return out
}

// effects lists the fields with an effect test: those above, and those that the named tests show.
func effects() map[string]bool {
	out := rendered()
	for path := range workloadFields {
		out[path] = true
	}
	for path := range scheduleFields {
		out[path] = true
	}
	for _, path := range []string{
		"Profile.deletionPolicy",                                          // TestProfileDeletion
		"Gateway.engine",                                                  // row: an engine that is not there
		"Gateway.updatePolicy.mode",                                       // row: older settings
		"RelayIdentity.profileRef.name", "MetricsConsent.profileRef.name", // pendingRows
		"Schedule.profileRef.name", // row: a schedule without its profile
	} {
		out[path] = true
	}
	return out
}
