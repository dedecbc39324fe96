package controlplane

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// A server lists a new kind a moment after it serves it: whoever asked in between would not know the kind.
func TestWaitDiscoveredWaitsForEveryKind(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "example.dev", Version: "v1", Resource: "late"}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any
		switch r.URL.Path {
		case "/api":
			body = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
		case "/apis":
			version := metav1.GroupVersionForDiscovery{GroupVersion: "example.dev/v1", Version: "v1"}
			body = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
				Groups: []metav1.APIGroup{{Name: "example.dev", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}}
		default:
			list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "example.dev/v1",
				APIResources: []metav1.APIResource{{Name: "early", Kind: "Early"}}}
			if asked.Add(1) > 2 {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: "late", Kind: "Late"})
			}
			body = list
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	defer server.Close()
	if err := waitDiscovered(t.Context(), &rest.Config{Host: server.URL}, []schema.GroupVersionResource{gvr}); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n < 3 {
		t.Errorf("returned after %d looks, while the kind was not listed", n)
	}
}
