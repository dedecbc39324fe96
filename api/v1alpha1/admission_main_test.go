package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	testcontrolplane "hermes.dev/hermes/test/controlplane"
)

// api is the real API server with the CRDs of this repository; it is set once by TestMain.
var api struct {
	env    *testcontrolplane.Env
	client client.Client
}

func TestMain(m *testing.M) { os.Exit(runSuite(m)) }

func runSuite(m *testing.M) int {
	env, err := testcontrolplane.StartForSuite()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = env.Stop() }()
	api.env = env
	if api.client, err = client.New(env.Config, client.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// crds reads config/crd/bases by kind.
func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in config/crd/bases (%v): run make generate", err)
	}
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[crd.Spec.Names.Kind] = crd
	}
	return out
}

func schemaOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// object returns the kind's base object under a name, with changes laid over it.
func object(t *testing.T, kind, name string, changes ...change) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(bases[kind]), &u.Object); err != nil {
		t.Fatalf("base of %s: %v", kind, err)
	}
	u.SetAPIVersion("hermes.dev/v1alpha1")
	u.SetKind(kind)
	u.SetNamespace("default")
	u.SetName(name)
	for _, c := range changes {
		if err := c.apply(u.Object); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// change sets one field of an object; a nil value removes it. A path reads like
// spec.env[0].name, with the keys of a map as segments.
type change struct {
	path  string
	value any
}

// set is a change whose value is YAML.
func set(path, value string) change {
	var v any
	if err := yaml.Unmarshal([]byte(value), &v); err != nil {
		panic(fmt.Sprintf("%s: %v", path, err))
	}
	return change{path: path, value: v}
}

// text is a change to a string, whatever it looks like.
func text(path, value string) change { return change{path: path, value: value} }

// remove takes a field away.
func remove(path string) change { return change{path: path} }

var segment = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

func (c change) apply(root map[string]any) error {
	segments := segment.FindAllString(c.path, -1)
	var at any = root
	for i, s := range segments[:len(segments)-1] {
		next, err := step(at, s, strings.HasPrefix(segments[i+1], "["))
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		at = next
	}
	last := segments[len(segments)-1]
	switch holder := at.(type) {
	case map[string]any:
		if c.value == nil {
			delete(holder, last)
			return nil
		}
		holder[last] = runtime.DeepCopyJSONValue(jsonValue(c.value))
	case []any:
		i, _ := strconv.Atoi(strings.Trim(last, "[]"))
		holder[i] = runtime.DeepCopyJSONValue(jsonValue(c.value))
	}
	return nil
}

// step goes one segment down; a missing object is made, a missing list is an error of the test.
func step(at any, s string, listNext bool) (any, error) {
	switch holder := at.(type) {
	case map[string]any:
		next, ok := holder[s]
		if !ok && listNext {
			return nil, fmt.Errorf("the base object has no list %s", s)
		}
		if !ok {
			next = map[string]any{}
			holder[s] = next
		}
		return next, nil
	case []any:
		i, err := strconv.Atoi(strings.Trim(s, "[]"))
		if err != nil || i >= len(holder) {
			return nil, fmt.Errorf("the base object has no item %s", s)
		}
		return holder[i], nil
	default:
		return nil, fmt.Errorf("segment %s is not in an object or list", s)
	}
}

// jsonValue is a value of the kinds that API objects are made of.
func jsonValue(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// admit sends an object through admission without keeping it.
func admit(t *testing.T, u *unstructured.Unstructured) error {
	t.Helper()
	return api.client.Create(t.Context(), u.DeepCopy(), client.DryRunAll)
}

// mustAdmit fails the test when an object is refused.
func mustAdmit(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := admit(t, u); err != nil {
		t.Errorf("an object that should be accepted was refused: %v", err)
	}
}

// mustRefuse fails the test unless err refuses field, and the cause holds every one of words.
func mustRefuse(t *testing.T, err error, field string, words ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Errorf("want a refusal of %s, got: %v", field, err)
		return
	}
	for _, c := range causes(err) {
		if dotted(c.Field) == dotted(field) && containsAll(c.Message, words) {
			return
		}
	}
	t.Errorf("no cause refuses %s with %q:\n%+v", field, words, causes(err))
}

var mapKey = regexp.MustCompile(`\[([^\]]*[^\]\d][^\]]*)\]`)

// dotted writes the keys of maps one way: the server puts them in brackets or after a dot, by who refuses.
func dotted(field string) string { return mapKey.ReplaceAllString(field, ".$1") }

func causes(err error) []metav1.StatusCause {
	status, ok := err.(apierrors.APIStatus) // the client returns it unwrapped
	if !ok || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}
