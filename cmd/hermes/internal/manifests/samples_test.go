package manifests

import (
	"strings"
	"testing"
)

// The samples can be applied as they are, and none asks for a directory that only root may make.
func TestSamplesApply(t *testing.T) {
	a := applier(t)
	docs := Read([]string{"../../../../config/samples"}, strings.NewReader(""))
	if len(docs) < 6 {
		t.Fatalf("only %d documents", len(docs))
	}
	for _, r := range a.Apply(t.Context(), docs, func(Result) {}) {
		if r.Outcome != Created {
			t.Error(r)
		}
	}
	for _, d := range docs {
		spec, _ := d.Object.Object["spec"].(map[string]any)
		workspace, _ := spec["workspace"].(map[string]any)
		if spec["home"] != nil || workspace["directory"] != nil {
			t.Errorf("%s names a directory", d.Position())
		}
	}
}
