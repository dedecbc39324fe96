package kube

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"hermes.dev/hermes/api/v1alpha1"
)

// Kind is one of our kinds with every name it goes by.
type Kind struct {
	// Kind is the name in manifests, Resource the plural in URLs, Short the short name.
	Kind, Resource, Short string
	// NewItem and NewList make an empty object and an empty list of the kind.
	NewItem, NewList func() runtime.Object
}

// Kinds are the five kinds of hermes.dev in the order in which people think of them.
func Kinds() []Kind {
	return []Kind{
		{"Gateway", "gateways", "hgw", func() runtime.Object { return &v1alpha1.Gateway{} }, func() runtime.Object { return &v1alpha1.GatewayList{} }},
		{"Profile", "profiles", "hprof", func() runtime.Object { return &v1alpha1.Profile{} }, func() runtime.Object { return &v1alpha1.ProfileList{} }},
		{"RelayIdentity", "relayidentities", "hri", func() runtime.Object { return &v1alpha1.RelayIdentity{} }, func() runtime.Object { return &v1alpha1.RelayIdentityList{} }},
		{"MetricsConsent", "metricsconsents", "hmc", func() runtime.Object { return &v1alpha1.MetricsConsent{} }, func() runtime.Object { return &v1alpha1.MetricsConsentList{} }},
		{"Schedule", "schedules", "hsched", func() runtime.Object { return &v1alpha1.Schedule{} }, func() runtime.Object { return &v1alpha1.ScheduleList{} }},
	}
}

// LookupKind finds one of our kinds by kind, singular, plural or short name, in any case, with or without
// our group behind it.
func LookupKind(name string) (Kind, bool) {
	name = strings.ToLower(name)
	if base, rest, found := strings.Cut(name, "."); found {
		if rest != v1alpha1.GroupVersion.Group && rest != v1alpha1.GroupVersion.Version+"."+v1alpha1.GroupVersion.Group {
			return Kind{}, false
		}
		name = base
	}
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool {
		return name == k.Resource || name == k.Short || name == strings.ToLower(k.Kind)
	})
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// GVK is the kind's full name.
func (k Kind) GVK() schema.GroupVersionKind { return v1alpha1.GroupVersion.WithKind(k.Kind) }

// GVR is the resource's full name.
func (k Kind) GVR() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource(k.Resource)
}

// Scheme knows our kinds and nothing else.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err) // only a wrong type in our own package can cause it, and then every test fails
	}
	return s
}

// wellKnown are resources of other groups that manifests hold so often that the server need not be asked.
func wellKnown() []*meta.RESTMapping {
	core := schema.GroupVersion{Version: "v1"}
	mapping := func(kind, resource string, scope meta.RESTScope) *meta.RESTMapping {
		return &meta.RESTMapping{Resource: core.WithResource(resource), GroupVersionKind: core.WithKind(kind), Scope: scope}
	}
	return []*meta.RESTMapping{
		mapping("Secret", "secrets", meta.RESTScopeNamespace),
		mapping("ConfigMap", "configmaps", meta.RESTScopeNamespace),
		mapping("Namespace", "namespaces", meta.RESTScopeRoot),
	}
}
