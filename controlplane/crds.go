package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// CRDFieldManager owns every field of the CRDs that InstallCRDs applies.
	CRDFieldManager = "hermes-crds"

	crdPoll    = 20 * time.Millisecond
	crdTimeout = 30 * time.Second
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallCRDs applies every CustomResourceDefinition in the *.yaml files of dir (not below it) by
// server-side apply, so that a newer set upgrades an older one in place, and returns once all of them are
// served and discovery lists them. Anything else in the files is an error, and then nothing is applied.
func InstallCRDs(ctx context.Context, cfg *rest.Config, dir fs.FS) error {
	crds, err := readCRDs(dir)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("install CRDs: %w", err)
	}
	for _, crd := range crds {
		raw, err := json.Marshal(crd)
		if err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
		force := true
		_, err = client.Resource(crdResource).Patch(ctx, crd.GetName(), types.ApplyPatchType, raw,
			metav1.PatchOptions{FieldManager: CRDFieldManager, Force: &force})
		if err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
	}
	var served []schema.GroupVersionResource
	for _, crd := range crds {
		gvr, err := servedResource(crd)
		if err != nil {
			return err
		}
		if err := waitServed(ctx, client, crd, gvr); err != nil {
			return err
		}
		if !gvr.Empty() {
			served = append(served, gvr)
		}
	}
	return waitDiscovered(ctx, cfg, served)
}

func readCRDs(dir fs.FS) ([]*unstructured.Unstructured, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	slices.Sort(files)
	var crds []*unstructured.Unstructured
	for _, name := range files {
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read CRDs: %w", err)
		}
		found, err := decodeCRDs(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		crds = append(crds, found...)
	}
	return crds, nil
}

func decodeCRDs(raw []byte) ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		crd := &unstructured.Unstructured{}
		err := d.Decode(crd)
		switch {
		case errors.Is(err, io.EOF):
			return crds, nil
		case err != nil:
			return nil, err
		case len(crd.Object) == 0:
			continue // an empty document between two separators
		case crd.GetAPIVersion() != "apiextensions.k8s.io/v1" || crd.GetKind() != "CustomResourceDefinition":
			return nil, fmt.Errorf("holds a %s %s, not a CustomResourceDefinition of apiextensions.k8s.io/v1",
				crd.GetAPIVersion(), crd.GetKind())
		}
		crds = append(crds, crd)
	}
}

// waitServed waits until the CRD is established and one of its served versions answers a list: the
// condition alone is set a moment before the handler knows.
func waitServed(ctx context.Context, client dynamic.Interface, crd *unstructured.Unstructured, gvr schema.GroupVersionResource) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, crdPoll, crdTimeout, true, func(ctx context.Context) (bool, error) {
		current, err := client.Resource(crdResource).Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if last = notEstablished(current); last != nil {
			return false, nil
		}
		if gvr.Empty() {
			return true, nil
		}
		if _, last = client.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(last) {
			return false, nil
		}
		return last == nil, last
	})
	if err != nil {
		return fmt.Errorf("CRD %s is not served: %w", crd.GetName(), errors.Join(err, last))
	}
	return nil
}

// servedResource is the first served version of the CRD; empty when it serves none.
func servedResource(crd *unstructured.Unstructured) (schema.GroupVersionResource, error) {
	gvr := schema.GroupVersionResource{}
	gvr.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	gvr.Resource, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return gvr, fmt.Errorf("CRD %s: %w", crd.GetName(), err)
	}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if served, _ := version["served"].(bool); served {
			gvr.Version, _ = version["name"].(string)
			return gvr, nil
		}
	}
	return schema.GroupVersionResource{}, nil
}

// notEstablished says why the CRD is not served yet; nil when it is.
func notEstablished(crd *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return err
	}
	why := "no condition Established"
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch {
		case condition["type"] == "Established" && condition["status"] == "True":
			return nil
		case condition["status"] == "False":
			why = fmt.Sprintf("%v: %v", condition["reason"], condition["message"])
		}
	}
	return errors.New(why)
}
