package manifests

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

func configMap(name, value string) []byte {
	return []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {x: " + value + "}\n")
}

// An object of a set that is also applied by itself stays in the set: the set still prunes it.
func TestPlainApplyKeepsTheMark(t *testing.T) {
	a := applier(t)
	set := *a
	set.Set = "set-and-plain"
	run := func(docs []Document) []string {
		results := set.Apply(t.Context(), docs, func(Result) {})
		return lines(append(results, set.Prune(t.Context(), results, func(Result) {})...))
	}
	run(slices.Concat(Parse("/d/one.yaml", configMap("one", "a")), Parse("/d/two.yaml", configMap("two", "a"))))
	plain := a.Apply(t.Context(), slices.Concat(Parse("-", configMap("one", "a")), Parse("/elsewhere/two.yaml", configMap("two", "b"))), func(Result) {})
	if diff := cmp.Diff([]string{"configmap/one unchanged", "configmap/two configured"}, lines(plain)); diff != "" {
		t.Errorf("plain apply (-want +got):\n%s", diff)
	}
	two, err := a.Client.Resource(configmaps).Namespace(a.Namespace).Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := two.GetAnnotations()[AnnotationSource]; got != "/d/two.yaml" {
		t.Errorf("the object is said to come from %q, want the set's own file", got)
	}
	want := []string{"configmap/one unchanged", "configmap/two pruned"}
	if diff := cmp.Diff(want, run(Parse("/d/one.yaml", configMap("one", "a")))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The mark of another field manager is not taken over: that one alone decides how long it stays.
func TestPlainApplyLeavesTheMarkOfOthers(t *testing.T) {
	a := applier(t)
	watched := *a
	watched.Manager, watched.Set = WatchedFieldManager, WatchedSet
	if r := watched.Apply(t.Context(), Parse("/d/one.yaml", configMap("one", "a")), func(Result) {}); AnyFailed(r) {
		t.Fatal(lines(r))
	}
	if r := a.Apply(t.Context(), Parse("/d/one.yaml", configMap("one", "a")), func(Result) {}); AnyFailed(r) {
		t.Fatal(lines(r))
	}
	one, err := a.Client.Resource(configmaps).Namespace(a.Namespace).Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := one.GetLabels()[v1alpha1.LabelAppliedBy]; got != WatchedSet {
		t.Errorf("label = %q, want %q", got, WatchedSet)
	}
	if a.marked(one) {
		t.Error("the plain apply owns a mark that is another's")
	}
}
