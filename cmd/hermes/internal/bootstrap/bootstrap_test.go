package bootstrap

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"hermes.dev/hermes/test/controlplane"
)

func TestBootstrap(t *testing.T) {
	env := controlplane.StartEnv(t)
	if err := Run(t.Context(), env.Config); err != nil {
		t.Fatal(err)
	}
	before := versions(t, env)
	if err := Run(t.Context(), env.Config); err != nil {
		t.Fatal(err)
	}
	if after := versions(t, env); after != before {
		t.Errorf("doing it again changed something:\n%s\nthen\n%s", before, after)
	}
	gateways(t, env)
	t.Run("demo", func(t *testing.T) {
		if err := Demo(t.Context(), env.Config); err != nil {
			t.Fatal(err)
		}
		if err := Demo(t.Context(), env.Config); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// versions lists the resourceVersion of everything that a bootstrap makes.
func versions(t *testing.T, env *controlplane.Env) string {
	t.Helper()
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, r := range []schema.GroupVersionResource{
		{Group: "hermes.dev", Version: "v1alpha1", Resource: "gateways"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	} {
		list, err := client.Resource(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			out += fmt.Sprintf("%s/%s %s\n", r.Resource, item.GetName(), item.GetResourceVersion())
		}
	}
	return out
}

// gateways asks the server itself what the token of the gateways may do.
func gateways(t *testing.T, env *controlplane.Env) {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", env.GatewayKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		verb, group, resource, sub string
		want                       bool
	}{
		{"list", "hermes.dev", "profiles", "", true},
		{"watch", "hermes.dev", "schedules", "", true},
		{"patch", "hermes.dev", "profiles", "status", true},
		{"watch", "", "secrets", "", true},
		{"create", "events.k8s.io", "events", "", true},
		{"update", "coordination.k8s.io", "leases", "", true},
		{"patch", "hermes.dev", "profiles", "", false},
		{"delete", "hermes.dev", "profiles", "", false},
		{"create", "hermes.dev", "metricsconsents", "", false},
		{"update", "", "secrets", "", false},
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", false},
		{"patch", "apiextensions.k8s.io", "customresourcedefinitions", "", false},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: tc.verb, Group: tc.group, Resource: tc.resource, Subresource: tc.sub},
		}}
		got, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Allowed != tc.want {
			t.Errorf("gateways may %s %s.%s/%s: %t, want %t", tc.verb, tc.resource, tc.group, tc.sub, got.Status.Allowed, tc.want)
		}
	}
}
