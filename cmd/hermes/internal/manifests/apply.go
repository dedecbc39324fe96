package manifests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

const (
	// FieldManager owns what hermes apply declares.
	FieldManager = "hermes"
	// WatchedFieldManager owns what hermes up --manifests declares.
	WatchedFieldManager = "hermes-manifests"
	// WatchedSet labels what hermes up --manifests applied.
	WatchedSet = "manifests"
	// AnnotationSource names the file an object of a set was declared in.
	AnnotationSource = "hermes.dev/applied-from"

	// parallel writes; the embedded control plane gains nothing from more.
	parallel = 8
)

// Outcome is what became of one document.
type Outcome string

// Outcomes. Unchanged means that the apply moved nothing: neither the object's resourceVersion nor, when
// somebody else moved that meanwhile, anything but status.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	Pruned     Outcome = "pruned"
	Failed     Outcome = "failed"
)

// Result is what became of one document, or of one pruned object (then Document is empty).
type Result struct {
	Document
	Identity Identity
	Outcome  Outcome
	// Err is set when Outcome is Failed.
	Err error
}

// String is the line to print: "profile.hermes.dev/alice created", or the position and what is wrong.
func (r Result) String() string {
	if r.Outcome != Failed {
		return r.Identity.String() + " " + string(r.Outcome)
	}
	where := r.Position()
	if r.Identity.Name != "" {
		where = strings.TrimPrefix(where+": "+r.Identity.String(), ": ")
	}
	return where + ": " + r.Err.Error()
}

// Applier applies documents to one control plane.
type Applier struct {
	Client dynamic.Interface
	Mapper meta.RESTMapper
	// Namespace for namespaced objects that declare none.
	Namespace string
	// EnforceNamespace refuses objects of other namespaces.
	EnforceNamespace bool
	// Manager is the field manager.
	Manager string
	// Force takes over fields that another manager owns.
	Force bool
	// Set labels every object, so that Prune can find it again; empty keeps the label that is there.
	Set string
}

// Apply applies every document that can be applied, in phases (namespaces, then what is referred to, then
// what refers), and reports one result a document, in order within a phase. Broken documents are reported
// first: they are known before anything is sent.
func (a *Applier) Apply(ctx context.Context, docs []Document, report func(Result)) []Result {
	items := a.plan(docs)
	results := make([]Result, len(items))
	for i, it := range items {
		results[i] = Result{Document: it.Document, Identity: it.id}
		if it.Err != nil {
			results[i].Outcome, results[i].Err = Failed, it.Err
			report(results[i])
		}
	}
	for _, phase := range phases(items) {
		before := a.readLive(ctx, items, phase)
		var group errgroup.Group
		group.SetLimit(parallel)
		for i := range items {
			if items[i].phase != phase || items[i].Err != nil {
				continue
			}
			group.Go(func() error {
				results[i].Outcome, results[i].Err = a.applyOne(ctx, before, items[i])
				return nil
			})
		}
		_ = group.Wait() // errors are in the results
		for i := range items {
			if items[i].phase == phase && items[i].Err == nil {
				report(results[i])
			}
		}
	}
	return results
}

func (a *Applier) applyOne(ctx context.Context, l live, it item) (Outcome, error) {
	client := a.Client.Resource(it.mapping.Resource).Namespace(it.Object.GetNamespace())
	before, err := a.get(ctx, l, it)
	if err != nil {
		return Failed, readable(err)
	}
	a.mark(it, before)
	raw, err := json.Marshal(it.Object)
	if err != nil {
		return Failed, err
	}
	after, err := client.Patch(ctx, it.Object.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{
		FieldManager: a.Manager, Force: &a.Force, FieldValidation: metav1.FieldValidationStrict,
	})
	switch {
	case err != nil:
		return Failed, readable(err)
	case before == nil:
		return Created, nil
	case before.GetResourceVersion() == after.GetResourceVersion() || same(before, after):
		return Unchanged, nil
	}
	return Configured, nil
}

// same reports that nothing a person declares differs. The version alone does not tell: a controller may have
// written its status between our two requests.
func same(before, after *unstructured.Unstructured) bool {
	declared := func(o *unstructured.Unstructured) map[string]any {
		o = o.DeepCopy()
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		delete(o.Object, "status")
		return o.Object
	}
	return equality.Semantic.DeepEqual(declared(before), declared(after))
}

// readable is the server's error in its own words without the noise around them.
func readable(err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s: another program owns these fields: leave them out, or use --force-conflicts to take them over",
			strings.Join(kube.Messages(err), "; "))
	}
	if messages := kube.Messages(err); len(messages) > 0 {
		return errors.New(strings.Join(messages, "; "))
	}
	if apierrors.IsBadRequest(err) || apierrors.IsInternalError(err) {
		// "failed to create typed patch object (ns/name; group/version, Kind=K): .spec.x: field not declared in schema"
		if _, said, found := strings.Cut(err.Error(), "): "); found {
			return errors.New(strings.TrimPrefix(said, "."))
		}
	}
	return err
}

// AnyFailed reports whether a document was not applied.
func AnyFailed(results []Result) bool {
	for _, r := range results {
		if r.Outcome == Failed {
			return true
		}
	}
	return false
}
