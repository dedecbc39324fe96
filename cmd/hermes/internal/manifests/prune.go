package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

// SetName is the default name of the set declared by paths: the same paths are the same set, from whatever
// directory they are named.
func SetName(paths []string) (string, error) {
	sum := sha256.New()
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		sum.Write([]byte(abs + "\x00"))
	}
	return "apply-" + hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// prunable are the resources a set is searched for: ours and the two that manifests use beside them. A kind
// outside this list is never pruned.
func prunable() []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, k := range kube.Kinds() {
		out = append(out, k.GVR())
	}
	slices.Reverse(out) // what refers before what is referred to
	return append(out, schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
		schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
}

// Prune deletes the objects that carry the set's label and are not among the results of the Apply that just
// ran. An object declared in a file that could not be read or parsed stays: a typo is no reason to delete.
func (a *Applier) Prune(ctx context.Context, applied []Result, report func(Result)) []Result {
	if a.Set == "" {
		failed := Result{Outcome: Failed, Err: errNoSet}
		report(failed)
		return []Result{failed}
	}
	keep := keepOf(applied)
	var out []Result
	for _, resource := range prunable() {
		list, err := a.Client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelAppliedBy + "=" + a.Set})
		if err != nil {
			if apierrors.IsNotFound(err) {
				continue // the kind is not installed here
			}
			out = append(out, Result{Document: Document{File: "prune " + resource.Resource}, Outcome: Failed, Err: readable(err)})
			report(out[len(out)-1])
			continue
		}
		for i := range list.Items {
			if object := &list.Items[i]; keep.prunes(object) {
				out = append(out, a.pruneOne(ctx, resource, object))
				report(out[len(out)-1])
			}
		}
	}
	return out
}

// kept is what an Apply has said about a set.
type kept struct {
	objects map[Identity]bool
	broken  []string
}

func keepOf(applied []Result) kept {
	k := kept{objects: map[Identity]bool{}}
	for _, r := range applied {
		if r.Identity.Name != "" {
			k.objects[r.Identity] = true
		}
		if r.Outcome == Failed {
			k.broken = append(k.broken, sourceOf(r.File))
		}
	}
	return k
}

// prunes decides whether an object of the set has left it.
func (k kept) prunes(o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil || k.objects[identityOf(o)] {
		return false
	}
	source := o.GetAnnotations()[AnnotationSource]
	return !slices.ContainsFunc(k.broken, func(path string) bool {
		return source == path || strings.HasPrefix(source, strings.TrimSuffix(path, "/")+"/")
	})
}

func (a *Applier) pruneOne(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) Result {
	r := Result{Identity: identityOf(o), Outcome: Pruned}
	uid := o.GetUID()
	err := a.Client.Resource(resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(),
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		r.Outcome, r.Err = Failed, readable(err)
	}
	return r
}
