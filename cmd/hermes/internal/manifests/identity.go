package manifests

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Identity names one object of a set, whatever version it is written in.
type Identity struct {
	schema.GroupKind
	Namespace, Name string
}

func identityOf(o *unstructured.Unstructured) Identity {
	return Identity{o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName()}
}

// String is how an object is named to people: profile.hermes.dev/alice, in kubectl's manner.
func (i Identity) String() string {
	kind := strings.ToLower(i.Kind)
	if i.Group != "" {
		kind += "." + i.Group
	}
	return kind + "/" + i.Name
}
