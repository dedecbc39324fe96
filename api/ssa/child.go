package ssa

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrForeign means that an object of the wanted name exists and is not controlled by the wanted owner.
var ErrForeign = errors.New("object belongs to someone else")

// CheckOwner returns ErrForeign unless child is controlled by owner. It never
// lets an object of the same name be adopted by accident.
func CheckOwner(child metav1.Object, owner client.Object) error {
	c := metav1.GetControllerOf(child)
	if c != nil && c.UID == owner.GetUID() {
		return nil
	}
	who := "nobody"
	if c != nil {
		who = c.Kind + " " + c.Name
	}
	return fmt.Errorf("%w: %s is controlled by %s", ErrForeign, child.GetName(), who)
}

// Apply server-side applies desired under one field manager. Fields set by other
// managers, their labels and annotations included, stay.
func Apply(ctx context.Context, c client.Client, manager string, desired client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(desired, c.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "status")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(desired), err)
	}
	return u, nil
}
