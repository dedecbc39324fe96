package kube

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
)

// A cluster with a Gateway of another group, as many have.
func crowded() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	other := schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1"}
	m.AddSpecific(other.WithKind("Gateway"), other.WithResource("gateways"), other.WithResource("gateway"), meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	return OursFirst(m)
}

func TestOurKindsComeFirst(t *testing.T) {
	for name, want := range map[string]string{
		"gateway": "gateways.hermes.dev", "Gateway": "gateways.hermes.dev", "gateways": "gateways.hermes.dev", "hgw": "gateways.hermes.dev",
		"profile": "profiles.hermes.dev", "hprof": "profiles.hermes.dev", "hri": "relayidentities.hermes.dev",
		"relayidentity": "relayidentities.hermes.dev", "hmc": "metricsconsents.hermes.dev", "hsched": "schedules.hermes.dev",
		"secret": "secrets", "ConfigMap": "configmaps", "namespaces": "namespaces", "deployment": "deployments.apps",
	} {
		got, err := crowded().ResourceFor(schema.GroupVersionResource{Resource: name})
		if err != nil || got.GroupResource().String() != want {
			t.Errorf("ResourceFor(%s) = %s, %v, want %s", name, got.GroupResource(), err, want)
		}
		kind, err := crowded().KindFor(schema.GroupVersionResource{Resource: name})
		if err != nil || kind.Group != got.Group {
			t.Errorf("KindFor(%s) = %s, %v", name, kind, err)
		}
	}
}

func TestAnotherGroupIsReachedByItsFullName(t *testing.T) {
	got, err := crowded().ResourceFor(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Resource: "gateway"})
	if err != nil || got.Group != "gateway.networking.k8s.io" {
		t.Errorf("ResourceFor = %s, %v", got, err)
	}
	if _, err := crowded().RESTMapping(schema.GroupKind{Group: "hermes.dev", Kind: "Profile"}, "v9"); err == nil {
		t.Error("a version that does not exist was found")
	}
}

func TestMessages(t *testing.T) {
	invalid := func(causes ...metav1.StatusCause) error {
		return fmt.Errorf("wrapped: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Causes: causes}}})
	}
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"a rule":                {invalid(metav1.StatusCause{Field: "spec.model", Message: `Invalid value: "object": name the model to use, for example: x`}), []string{"spec.model: name the model to use, for example: x"}},
		"a root rule":           {invalid(metav1.StatusCause{Field: "<nil>", Message: `Invalid value: "object": too long`}), []string{"too long"}},
		"twice the same":        {invalid(metav1.StatusCause{Field: "a", Message: "b"}, metav1.StatusCause{Field: "a", Message: "b"}), []string{"a: b"}},
		"nothing to do about":   {invalid(metav1.StatusCause{Field: "<nil>", Message: "some validation rules were not checked because x"}, metav1.StatusCause{Field: "a", Message: "b"}), []string{"a: b"}},
		"not about the content": {errors.New("x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Messages(tc.err); strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("Messages = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	refused := fmt.Errorf("get: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	missing := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{}}}
	object := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "profile x not found", Details: &metav1.StatusDetails{Name: "x"}}}
	for name, tc := range map[string]struct {
		source datadir.SourceKind
		err    error
		want   string
	}{
		"local and stopped":      {datadir.Local, refused, "no control plane is running for /d: start it with hermes --data /d up"},
		"a cluster that is gone": {datadir.FromFlag, refused, "the control plane of /k does not answer"},
		"kinds not installed":    {datadir.FromFlag, missing, "install the CRDs"},
		"an object not there":    {datadir.FromFlag, object, "profile x not found"},
		"anything else":          {datadir.Local, errors.New("x"), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Client{Source: datadir.Source{Kind: tc.source, Kubeconfig: "/k", Data: "/d"}}
			if got := c.Explain(tc.err); !strings.Contains(got.Error(), tc.want) {
				t.Errorf("Explain = %v, want %q in it", got, tc.want)
			}
		})
	}
	if (&Client{}).Explain(nil) != nil {
		t.Error("Explain(nil) is an error")
	}
}
