package home

import (
	"fmt"

	"hermes.dev/hermes/api/v1alpha1"
)

// Kinds of referenced objects.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// Ref is one reference of a Profile to a Secret or ConfigMap in its namespace.
type Ref struct {
	// Kind is Secret or ConfigMap.
	Kind string
	// Name and Key; an empty Key means the whole object.
	Name, Key string
	// Field of the Profile that refers to it, for messages.
	Field string
}

// Resolved holds the referenced objects that exist, by name. An object that is not there is absent from the map;
// a key that is not there is absent from the object.
type Resolved struct {
	Secrets    map[string]map[string][]byte
	ConfigMaps map[string]map[string][]byte
}

// object is the data of one referenced object.
func (r Resolved) object(kind, name string) (map[string][]byte, bool) {
	m := r.Secrets
	if kind == KindConfigMap {
		m = r.ConfigMaps
	}
	o, ok := m[name]
	return o, ok
}

// References lists every Secret and ConfigMap the profile names, in the order of the spec.
func References(p *v1alpha1.Profile) []Ref {
	var refs []Ref
	add := func(ref Ref, ok bool) {
		if ok {
			refs = append(refs, ref)
		}
	}
	spec := &p.Spec
	for i, c := range spec.Model.Credentials {
		add(credentialRef(c, "spec.model.credentials", i), true)
	}
	for i, f := range spec.Model.Fallbacks {
		for j, c := range f.Credentials {
			add(credentialRef(c, fmt.Sprintf("spec.model.fallbacks[%d].credentials", i), j), true)
		}
	}
	if spec.Identity != nil {
		add(sourceRef(spec.Identity.SoulFrom, "spec.identity.soulFrom"))
	}
	for _, path := range sortedKeys(spec.HomeFiles) {
		add(sourceRef(spec.HomeFiles[path].From, fileField("spec.homeFiles", path)))
	}
	if spec.Workspace != nil {
		for _, path := range sortedKeys(spec.Workspace.Documents) {
			add(sourceRef(spec.Workspace.Documents[path].From, fileField("spec.workspace.documents", path)))
		}
	}
	for i, e := range spec.EnvFrom {
		add(envFromRef(e, i))
	}
	for _, e := range spec.Env {
		add(sourceRef(e.ValueFrom, envField("spec.env", e.Name)))
	}
	for _, name := range sortedKeys(spec.MCPServers) {
		s, field := spec.MCPServers[name], mcpField(name)
		for _, e := range s.Env {
			add(sourceRef(e.ValueFrom, envField(field+".env", e.Name)))
		}
		for _, h := range s.Headers {
			add(sourceRef(h.ValueFrom, envField(field+".headers", h.Name)))
		}
	}
	return refs
}

func credentialRef(c v1alpha1.ModelCredential, field string, i int) Ref {
	return Ref{Kind: KindSecret, Name: c.SecretKeyRef.Name, Key: c.SecretKeyRef.Key, Field: fmt.Sprintf("%s[%d].secretKeyRef", field, i)}
}

func sourceRef(s *v1alpha1.ValueSource, field string) (Ref, bool) {
	switch {
	case s == nil:
		return Ref{}, false
	case s.SecretKeyRef != nil:
		return Ref{Kind: KindSecret, Name: s.SecretKeyRef.Name, Key: s.SecretKeyRef.Key, Field: field}, true
	case s.ConfigMapKeyRef != nil:
		return Ref{Kind: KindConfigMap, Name: s.ConfigMapKeyRef.Name, Key: s.ConfigMapKeyRef.Key, Field: field}, true
	default:
		return Ref{}, false
	}
}

func envFromRef(e v1alpha1.EnvFromSource, i int) (Ref, bool) {
	switch {
	case e.SecretRef != nil:
		return Ref{Kind: KindSecret, Name: e.SecretRef.Name, Field: fmt.Sprintf("spec.envFrom[%d].secretRef", i)}, true
	case e.ConfigMapRef != nil:
		return Ref{Kind: KindConfigMap, Name: e.ConfigMapRef.Name, Field: fmt.Sprintf("spec.envFrom[%d].configMapRef", i)}, true
	default:
		return Ref{}, false
	}
}

func fileField(base, path string) string { return fmt.Sprintf("%s[%s].from", base, path) }
func envField(base, name string) string  { return fmt.Sprintf("%s[%s].valueFrom", base, name) }
func mcpField(name string) string        { return fmt.Sprintf("spec.mcpServers[%s]", name) }
