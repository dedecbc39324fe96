package manifests

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// listFrom is how many documents of one kind and namespace are worth a list instead of a read each.
	listFrom = 16
	listPage = 500
	// listSpare is how many times more objects than documents a list may hold before single reads are cheaper.
	listSpare = 4
)

// collection is what one list request covers.
type collection struct {
	resource  schema.GroupVersionResource
	namespace string
}

func (it item) collection() collection {
	return collection{it.mapping.Resource, it.Object.GetNamespace()}
}

// live is what the server has of the documents that are about to be applied. Collections that were not listed
// are read one object at a time.
type live struct {
	objects map[collection]map[string]*unstructured.Unstructured
}

// readLive lists the collections of which a phase holds many documents. A list that is refused or much larger
// than what is wanted of it is left to single reads.
func (a *Applier) readLive(ctx context.Context, items []item, phase int) live {
	wanted := map[collection]int{}
	for _, it := range items {
		if it.phase == phase && it.Err == nil {
			wanted[it.collection()]++
		}
	}
	l := live{objects: map[collection]map[string]*unstructured.Unstructured{}}
	for c, n := range wanted {
		if n < listFrom {
			continue
		}
		if found, ok := a.list(ctx, c, n); ok {
			l.objects[c] = found
		}
	}
	return l
}

func (a *Applier) list(ctx context.Context, c collection, wanted int) (map[string]*unstructured.Unstructured, bool) {
	found := map[string]*unstructured.Unstructured{}
	o := metav1.ListOptions{Limit: listPage}
	for {
		page, err := a.Client.Resource(c.resource).Namespace(c.namespace).List(ctx, o)
		if err != nil {
			return nil, false
		}
		for i := range page.Items {
			found[page.Items[i].GetName()] = &page.Items[i]
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return found, true
		}
		if len(found) > listSpare*wanted {
			return nil, false
		}
	}
}

// get returns the object an item is about to change; none when there is no such object.
func (a *Applier) get(ctx context.Context, l live, it item) (*unstructured.Unstructured, error) {
	c := it.collection()
	if listed, ok := l.objects[c]; ok {
		return listed[it.Object.GetName()], nil
	}
	o, err := a.Client.Resource(c.resource).Namespace(c.namespace).Get(ctx, it.Object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}
