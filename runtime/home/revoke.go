package home

import (
	"maps"

	"hermes.dev/hermes/api/v1alpha1"
)

// Revoke takes out of a home that was rendered earlier what its Profile's references no longer give. It is for a
// Profile that cannot be rendered now: the last good configuration and files stay in force, but a value that was
// deleted, emptied or changed meanwhile does not outlive its source. Variables are rendered anew; when even they
// cannot be, none is left. It is pure; the values that are not there are listed in Missing.
func Revoke(last Bundle, p *v1alpha1.Profile, in Resolved) Bundle {
	values := p.DeepCopy()
	values.Spec.Config, values.Spec.Identity, values.Spec.HomeFiles, values.Spec.Workspace = nil, nil, nil, nil
	now, err := Render(values, in)
	if err != nil {
		now = Bundle{}
	}
	out := last
	out.UID, out.Gateway, out.Suspended = string(p.UID), p.Spec.GatewayRef.Name, p.Spec.Suspended
	out.Env, out.Missing, out.Ignored = now.Env, now.Missing, now.Ignored
	r := &renderer{spec: &p.Spec, in: in, b: Bundle{Missing: out.Missing}}
	out.HomeFiles = r.stillThere(last.HomeFiles, p.Spec.HomeFiles, "spec.homeFiles")
	if id := p.Spec.Identity; id != nil && id.SoulFrom != nil {
		soul := map[string]v1alpha1.FileSource{soulName: {From: id.SoulFrom}}
		out.HomeFiles = r.stillThere(out.HomeFiles, soul, "spec.identity")
	}
	if w := p.Spec.Workspace; w != nil {
		out.Documents = r.stillThere(last.Documents, w.Documents, "spec.workspace.documents")
	}
	out.Missing = r.b.Missing
	return out
}

// stillThere is files without those whose declared source has no value any more.
func (r *renderer) stillThere(files map[string][]byte, declared map[string]v1alpha1.FileSource, field string) map[string][]byte {
	out := maps.Clone(files)
	for _, path := range sortedKeys(declared) {
		ref, ok := sourceRef(declared[path].From, fileField(field, path))
		if !ok {
			continue
		}
		if _, ok := r.value(ref); !ok {
			delete(out, path)
		}
	}
	return out
}
