package manifests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/test/controlplane"
)

// plane is the real API server of this suite.
var plane *controlplane.Env

func TestMain(m *testing.M) {
	env, err := controlplane.StartForSuite()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plane = env
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var (
	profiles   = schema.GroupVersionResource{Group: "hermes.dev", Version: "v1alpha1", Resource: "profiles"}
	configmaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// applier works in a namespace of its own, which it creates.
func applier(t *testing.T) *Applier {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, t.Name()))
	a := &Applier{Client: client, Mapper: kube.OursFirst(meta.NewDefaultRESTMapper(nil)), Namespace: name, Manager: FieldManager}
	results := a.Apply(t.Context(), Parse("ns", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")), func(Result) {})
	if AnyFailed(results) {
		t.Fatal(results)
	}
	return a
}

func lines(results []Result) []string {
	var out []string
	for _, r := range results {
		out = append(out, r.String())
	}
	return out
}

func profile(name, spec string) string {
	return "---\napiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

const demo = "{model: {provider: demo}}"

func TestApplySaysWhatChanged(t *testing.T) {
	a := applier(t)
	apply := func(manifest string) []string {
		return lines(a.Apply(t.Context(), Parse("f", []byte(manifest)), func(Result) {}))
	}
	for _, step := range []struct{ manifest, want string }{
		{profile("alice", demo), "profile.hermes.dev/alice created"},
		{profile("alice", demo), "profile.hermes.dev/alice unchanged"},
		{profile("alice", "{model: {provider: demo}, suspended: true}"), "profile.hermes.dev/alice configured"},
		{profile("alice", demo), "profile.hermes.dev/alice configured"},
	} {
		if diff := cmp.Diff([]string{step.want}, apply(step.manifest)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	// What is not declared any more is gone: server-side apply, not a merge.
	got, err := a.Client.Resource(profiles).Namespace(a.Namespace).Get(t.Context(), "alice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if spec := got.Object["spec"].(map[string]any); spec["suspended"] != nil {
		t.Errorf("suspended is still %v", spec["suspended"])
	}
}

// A controller that writes status between our two requests does not make an apply a change.
func TestSameLooksAtWhatIsDeclared(t *testing.T) {
	object := func(version, suspended, status string) *unstructured.Unstructured {
		o := Parse("f", []byte(profile("a", "{suspended: "+suspended+"}")))[0].Object
		o.SetResourceVersion(version)
		o.Object["status"] = map[string]any{"x": status}
		return o
	}
	if !same(object("1", "true", "a"), object("2", "true", "b")) {
		t.Error("a change of status counts as one of the declaration")
	}
	if same(object("1", "true", "a"), object("2", "false", "a")) {
		t.Error("a change of spec does not count")
	}
}

func TestOneBadDocumentNeverHidesTheOthers(t *testing.T) {
	a := applier(t)
	manifest := profile("alice", demo) +
		profile("bad-value", "{model: {provider: custom, name: x}}") +
		profile("bad-field", "{modle: {provider: demo}}") +
		"---\nkind: [\n" +
		"---\napiVersion: hermes/v1\nkind: Profile\nmetadata: {name: bad-version}\n" +
		"---\napiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: bad-kind}\n" +
		profile("alice", demo) +
		profile("root", demo) +
		profile("zed", demo)
	var reported []string
	results := a.Apply(t.Context(), Parse("f", []byte(manifest)), func(r Result) { reported = append(reported, r.String()) })
	want := []string{
		"profile.hermes.dev/alice created",
		"f:7 (document 2): profile.hermes.dev/bad-value: spec.model.baseURL: provider custom needs baseURL: the address of an OpenAI-compatible server, for example http://127.0.0.1:11434/v1",
		"f:12 (document 3): profile.hermes.dev/bad-field: spec.modle: field not declared in schema",
		"f:17 (document 4): line 17: did not find expected node content",
		"f:19 (document 5): profile.hermes/bad-version: has apiVersion hermes/v1: write apiVersion: hermes.dev/v1alpha1",
		"f:23 (document 6): nothing.example.com/bad-kind: this control plane does not know kind Nothing in example.com/v1",
		"f:27 (document 7): profile.hermes.dev/alice: is declared twice, the first time in f:2 (document 1)",
		"f:32 (document 8): profile.hermes.dev/root: metadata: metadata.name is reserved: choose another name than hermes, test, tmp, root or sudo",
		"profile.hermes.dev/zed created",
	}
	if diff := cmp.Diff(want, lines(results)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	slices.Sort(reported)
	slices.Sort(want)
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("not everything was reported once (-want +got):\n%s", diff)
	}
	if !AnyFailed(results) {
		t.Error("AnyFailed = false")
	}
}

func TestApplyNamespaces(t *testing.T) {
	a := applier(t)
	a.EnforceNamespace = true
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: elsewhere}\n"
	got := lines(a.Apply(t.Context(), Parse("f", []byte(manifest)), func(Result) {}))
	want := "f:1 (document 1): configmap/c: declares namespace elsewhere and -n says " + a.Namespace + ": drop one of them"
	if diff := cmp.Diff([]string{want}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a.EnforceNamespace = false
	a.Namespace = "does-not-exist"
	got = lines(a.Apply(t.Context(), Parse("f", []byte(profile("p", demo))), func(Result) {}))
	if len(got) != 1 || !strings.Contains(got[0], `namespaces "does-not-exist" not found`) {
		t.Errorf("got %v", got)
	}
}

func TestConflictNamesTheFieldAndTheWayOut(t *testing.T) {
	a := applier(t)
	manifest := profile("alice", "{model: {provider: demo}, suspended: true}")
	other := *a
	other.Manager = "somebody"
	if r := other.Apply(t.Context(), Parse("f", []byte(manifest)), func(Result) {}); AnyFailed(r) {
		t.Fatal(lines(r))
	}
	changed := strings.Replace(manifest, "suspended: true", "suspended: false", 1)
	got := lines(a.Apply(t.Context(), Parse("f", []byte(changed)), func(Result) {}))
	if len(got) != 1 || !strings.Contains(got[0], "spec.suspended") || !strings.Contains(got[0], `"somebody"`) || !strings.Contains(got[0], "--force-conflicts") {
		t.Errorf("got %v", got)
	}
	a.Force = true
	got = lines(a.Apply(t.Context(), Parse("f", []byte(changed)), func(Result) {}))
	if diff := cmp.Diff([]string{"profile.hermes.dev/alice configured"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func exists(t *testing.T, a *Applier, r schema.GroupVersionResource, name string) bool {
	t.Helper()
	_, err := a.Client.Resource(r).Namespace(a.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestPruneDeletesOnlyWhatTheSetApplied(t *testing.T) {
	a := applier(t)
	cm := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	apply := func(set string, docs []Document) []string {
		b := *a
		b.Set = set
		results := b.Apply(t.Context(), docs, func(Result) {})
		return lines(append(results, b.Prune(t.Context(), results, func(Result) {})...))
	}
	plain := *a
	if r := plain.Apply(t.Context(), Parse("p", []byte(cm("by-hand"))), func(Result) {}); AnyFailed(r) {
		t.Fatal(lines(r))
	}
	apply("other", Parse("o", []byte(cm("of-another-set"))))
	apply("mine", Parse("m", []byte(cm("stays")+cm("leaves")+profile("leaves-too", demo))))
	got := apply("mine", Parse("m", []byte(cm("stays"))))
	want := []string{"configmap/stays unchanged", "profile.hermes.dev/leaves-too pruned", "configmap/leaves pruned"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, want := range map[string]bool{"by-hand": true, "of-another-set": true, "stays": true, "leaves": false} {
		if exists(t, a, configmaps, name) != want {
			t.Errorf("configmap %s: exists = %t, want %t", name, !want, want)
		}
	}
}

// A typo is no reason to delete: objects of a file that is broken now stay, others are pruned.
func TestPruneSparesBrokenFiles(t *testing.T) {
	a := applier(t)
	a.Set = "broken-files"
	cm := func(name string) []byte {
		return []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n")
	}
	run := func(docs ...Document) {
		results := a.Apply(t.Context(), docs, func(Result) {})
		a.Prune(t.Context(), results, func(Result) {})
	}
	all := slices.Concat(Parse("/d/one.yaml", cm("one")), Parse("/d/two.yaml", cm("two")), Parse("/e/three.yaml", cm("three")))
	run(all...)
	run(Parse("/d/one.yaml", []byte("broken: ["))...)
	for name, want := range map[string]bool{"one": true, "two": false, "three": false} {
		if exists(t, a, configmaps, name) != want {
			t.Errorf("configmap %s: exists = %t, want %t", name, !want, want)
		}
	}
	run(all...)
	run(Document{File: "/d", Err: os.ErrPermission}) // the whole directory cannot be read
	for name, want := range map[string]bool{"one": true, "two": true, "three": false} {
		if exists(t, a, configmaps, name) != want {
			t.Errorf("unreadable directory: configmap %s: exists = %t, want %t", name, !want, want)
		}
	}
}

func TestPruneNeedsASet(t *testing.T) {
	a := applier(t)
	if r := a.Prune(t.Context(), nil, func(Result) {}); !AnyFailed(r) {
		t.Error("pruning without a set: want a failure, it would delete everything")
	}
	if !exists(t, &Applier{Client: a.Client}, namespaces, a.Namespace) {
		t.Error("the namespace is gone")
	}
}
