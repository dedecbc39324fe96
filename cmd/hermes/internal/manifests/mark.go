package manifests

import (
	"encoding/json"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hermes.dev/hermes/api/v1alpha1"
)

// mark says on an object which set it belongs to. An apply without a set keeps the mark that an earlier one
// of the same field manager left: server-side apply removes what its manager does not send again, and an
// object without its mark would never be pruned.
func (a *Applier) mark(it item, live *unstructured.Unstructured) {
	set, source := a.Set, sourceOf(it.File)
	if set == "" {
		if _, declared := it.Object.GetLabels()[v1alpha1.LabelAppliedBy]; declared || live == nil || !a.marked(live) {
			return
		}
		set, source = live.GetLabels()[v1alpha1.LabelAppliedBy], live.GetAnnotations()[AnnotationSource]
	}
	it.Object.SetLabels(with(it.Object.GetLabels(), v1alpha1.LabelAppliedBy, set))
	it.Object.SetAnnotations(with(it.Object.GetAnnotations(), AnnotationSource, source))
}

// marked reports whether this field manager owns the mark on an object. Somebody else's is not ours to send.
func (a *Applier) marked(live *unstructured.Unstructured) bool {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != a.Manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if _, ok := owned.Metadata.Labels["f:"+v1alpha1.LabelAppliedBy]; ok {
			return true
		}
	}
	return false
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// sourceOf is a file's name as recorded in an object: absolute, so that it does not change with the
// directory hermes is run in.
func sourceOf(file string) string {
	if abs, err := filepath.Abs(file); err == nil && file != "-" {
		return abs
	}
	return file
}
