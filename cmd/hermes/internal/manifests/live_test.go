package manifests

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A file of many objects costs one list instead of a read each, and says the same about every one of them.
func TestManyDocumentsAreReadByOneList(t *testing.T) {
	a := applier(t)
	var reads atomic.Int32
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				reads.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	a.Client = client
	manifest := func(spec string) string {
		var b strings.Builder
		for i := range 3 * listFrom {
			b.WriteString(profile(fmt.Sprintf("p%d", i), spec))
		}
		return b.String()
	}
	for _, step := range []struct {
		spec string
		want Outcome
	}{{demo, Created}, {demo, Unchanged}, {"{model: {provider: demo}, suspended: true}", Configured}} {
		reads.Store(0)
		for _, r := range a.Apply(t.Context(), Parse("f", []byte(manifest(step.spec))), func(Result) {}) {
			if r.Outcome != step.want {
				t.Errorf("%s, want %s", r, step.want)
			}
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads for %d objects that are %s, want one list", n, 3*listFrom, step.want)
		}
	}
	reads.Store(0)
	if r := a.Apply(t.Context(), Parse("f", []byte(profile("p0", demo))), func(Result) {}); r[0].Outcome != Configured {
		t.Errorf("a single object after the list: %s", r[0])
	}
	if reads.Load() != 1 {
		t.Errorf("%d reads for one object", reads.Load())
	}
}
