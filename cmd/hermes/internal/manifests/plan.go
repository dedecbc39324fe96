package manifests

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

// item is one document on its way to the server.
type item struct {
	Document
	mapping *meta.RESTMapping
	id      Identity
	phase   int
}

// plan resolves every document's kind and namespace and finds objects declared twice. Documents that cannot
// be applied keep their error. The order is that of the documents.
func (a *Applier) plan(docs []Document) []item {
	items := make([]item, 0, len(docs))
	first := map[Identity]string{}
	for _, d := range docs {
		it := item{Document: d}
		if d.Err == nil {
			it.Object = d.Object.DeepCopy()
			it.Err = a.resolve(&it)
		}
		if it.Err == nil {
			if at, seen := first[it.id]; seen {
				it.Err = fmt.Errorf("is declared twice, the first time in %s", at)
			} else {
				first[it.id] = d.Position()
			}
		}
		items = append(items, it)
	}
	return items
}

func (a *Applier) resolve(it *item) error {
	it.id = identityOf(it.Object)
	gvk := it.Object.GroupVersionKind()
	mapping, err := a.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		if k, ok := kube.LookupKind(gvk.Kind); ok && k.GVK() != gvk {
			return fmt.Errorf("has apiVersion %s: write apiVersion: %s", it.Object.GetAPIVersion(), v1alpha1.GroupVersion)
		}
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("this control plane does not know kind %s in %s", gvk.Kind, it.Object.GetAPIVersion())
		}
		return err
	}
	it.mapping = mapping
	it.phase = phaseOf(it.id)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		it.Object.SetNamespace("")
	} else if err := a.place(it); err != nil {
		return err
	}
	it.id = identityOf(it.Object)
	return nil
}

// place fills in the namespace and refuses a manifest that contradicts -n.
func (a *Applier) place(it *item) error {
	declared := it.Object.GetNamespace()
	switch {
	case declared == "":
		it.Object.SetNamespace(a.Namespace)
	case a.EnforceNamespace && declared != a.Namespace:
		return fmt.Errorf("declares namespace %s and -n says %s: drop one of them", declared, a.Namespace)
	}
	return nil
}

// phaseOf puts what others need before what needs it.
func phaseOf(id Identity) int {
	switch {
	case id.Kind == "CustomResourceDefinition" || (id.Group == "" && id.Kind == "Namespace"):
		return 0
	case id.Group != v1alpha1.GroupVersion.Group:
		return 1
	case id.Kind == "Gateway":
		return 2
	case id.Kind == "Profile":
		return 3
	}
	return 4
}

func phases(items []item) []int {
	var out []int
	for _, it := range items {
		if !slices.Contains(out, it.phase) {
			out = append(out, it.phase)
		}
	}
	slices.Sort(out)
	return out
}

var errNoSet = errors.New("pruning needs the name of the set")
