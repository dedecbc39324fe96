package kube

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"hermes.dev/hermes/api/v1alpha1"
)

// oursFirst resolves our kinds by every name they have before anything else is asked, so that "gateway" is
// ours even on a cluster where another group has a Gateway, and so that our verbs need no discovery.
type oursFirst struct {
	meta.RESTMapper // everything that is not ours
	known           []*meta.RESTMapping
}

// OursFirst resolves our kinds and the core kinds manifests use without asking anybody, and leaves the others
// to rest.
func OursFirst(rest meta.RESTMapper) meta.RESTMapper {
	return oursFirst{RESTMapper: rest, known: wellKnown()}
}

func ours(r schema.GroupVersionResource) (Kind, bool) {
	if r.Group != "" && r.Group != v1alpha1.GroupVersion.Group {
		return Kind{}, false
	}
	if r.Version != "" && r.Version != v1alpha1.GroupVersion.Version {
		return Kind{}, false
	}
	return LookupKind(r.Resource)
}

func (m oursFirst) wellKnown(r schema.GroupVersionResource) *meta.RESTMapping {
	if r.Group != "" || (r.Version != "" && r.Version != "v1") {
		return nil
	}
	name := strings.ToLower(r.Resource)
	i := slices.IndexFunc(m.known, func(k *meta.RESTMapping) bool {
		return name == k.Resource.Resource || name == strings.ToLower(k.GroupVersionKind.Kind)
	})
	if i < 0 {
		return nil
	}
	return m.known[i]
}

func (m oursFirst) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	if k, ok := ours(r); ok {
		return k.GVK(), nil
	}
	if known := m.wellKnown(r); known != nil {
		return known.GroupVersionKind, nil
	}
	return m.RESTMapper.KindFor(r)
}

func (m oursFirst) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	if k, ok := ours(r); ok {
		return []schema.GroupVersionKind{k.GVK()}, nil
	}
	return m.RESTMapper.KindsFor(r)
}

func (m oursFirst) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	if k, ok := ours(r); ok {
		return k.GVR(), nil
	}
	if known := m.wellKnown(r); known != nil {
		return known.Resource, nil
	}
	return m.RESTMapper.ResourceFor(r)
}

func (m oursFirst) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	if k, ok := ours(r); ok {
		return []schema.GroupVersionResource{k.GVR()}, nil
	}
	return m.RESTMapper.ResourcesFor(r)
}

func (m oursFirst) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if found := m.static(gk); found != nil && admits(versions, found.GroupVersionKind.Version) {
		return found, nil
	}
	return m.RESTMapper.RESTMapping(gk, versions...)
}

func (m oursFirst) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if found := m.static(gk); found != nil && admits(versions, found.GroupVersionKind.Version) {
		return []*meta.RESTMapping{found}, nil
	}
	return m.RESTMapper.RESTMappings(gk, versions...)
}

func (m oursFirst) static(gk schema.GroupKind) *meta.RESTMapping {
	for _, k := range Kinds() {
		if gk == k.GVK().GroupKind() {
			return &meta.RESTMapping{Resource: k.GVR(), GroupVersionKind: k.GVK(), Scope: meta.RESTScopeNamespace}
		}
	}
	for _, known := range m.known {
		if gk == known.GroupVersionKind.GroupKind() {
			return known
		}
	}
	return nil
}

func admits(versions []string, version string) bool {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return v == "" })
	return len(versions) == 0 || slices.Contains(versions, version)
}
