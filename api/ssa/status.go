// Package ssa writes what one field manager owns of an object, by server-side
// apply, and only when it differs from what is there. Controllers and the
// gateway's node agent share it, so that several writers can own parts of one
// status without ever undoing each other's.
package ssa

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Owned is the part of a status that one field manager owns.
type Owned struct {
	// ConditionTypes lists every condition type the manager may set.
	ConditionTypes []string
	// Fields lists every other status field the manager may set, by JSON name.
	Fields []string
}

// StatusWriter applies one field manager's part of a status.
type StatusWriter struct {
	// Client writes; its reads are not used.
	Client client.Client
	// Manager is the field manager's name.
	Manager string
	// Owned is what this manager may set; nothing else is ever written or removed.
	Owned Owned
	// Now stamps condition transitions.
	Now func() time.Time
	// Latest, when set, remembers the server's answer.
	Latest *Latest
}

// Write makes the owned part of obj's status equal to conditions and fields, and
// reports whether anything had to be written. Conditions and fields that are
// owned and not given are removed. obj is read, not changed; its status must be
// the last one seen. An object that was deleted or replaced meanwhile is left
// alone (NotFound or Conflict is returned).
func (w StatusWriter) Write(ctx context.Context, obj client.Object, conditions []metav1.Condition, fields map[string]any) (bool, error) {
	current, err := statusOf(obj)
	if err != nil {
		return false, err
	}
	want, differs, err := w.plan(current, conditions, fields)
	if err != nil || !differs {
		return false, err
	}
	gvk, err := apiutil.GVKForObject(obj, w.Client.Scheme())
	if err != nil {
		return false, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": want}}
	u.SetGroupVersionKind(gvk)
	u.SetName(obj.GetName())
	u.SetNamespace(obj.GetNamespace())
	u.SetUID(obj.GetUID())
	err = w.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(w.Manager), client.ForceOwnership)
	if err != nil {
		return false, fmt.Errorf("write status of %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(obj), err)
	}
	w.Latest.record(u)
	return true, nil
}

// plan returns the status to apply and whether it differs from current in what
// is owned. Transition times of conditions whose status did not change are kept.
func (w StatusWriter) plan(current map[string]any, conditions []metav1.Condition, fields map[string]any) (map[string]any, bool, error) {
	want := map[string]any{}
	differs := false
	for name, value := range fields {
		if !slices.Contains(w.Owned.Fields, name) {
			return nil, false, fmt.Errorf("field manager %s does not own status.%s", w.Manager, name)
		}
		v, err := toJSONValue(value)
		if err != nil {
			return nil, false, fmt.Errorf("status.%s: %w", name, err)
		}
		if v != nil {
			want[name] = v
		}
	}
	for _, name := range w.Owned.Fields {
		if !reflect.DeepEqual(want[name], current[name]) {
			differs = true
		}
	}
	have := conditionsByType(current)
	var list []any
	seen := map[string]bool{}
	for _, c := range conditions {
		if !slices.Contains(w.Owned.ConditionTypes, c.Type) {
			return nil, false, fmt.Errorf("field manager %s does not own condition %s", w.Manager, c.Type)
		}
		seen[c.Type] = true
		old, ok := have[c.Type]
		c.LastTransitionTime = metav1.NewTime(w.Now().Truncate(time.Second))
		if ok && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if !ok || !sameCondition(old, c) {
			differs = true
		}
		v, err := toJSONValue(c)
		if err != nil {
			return nil, false, err
		}
		list = append(list, v)
	}
	for _, t := range w.Owned.ConditionTypes {
		if _, ok := have[t]; ok && !seen[t] {
			differs = true
		}
	}
	if len(list) > 0 {
		want["conditions"] = list
	}
	return want, differs, nil
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}

func conditionsByType(status map[string]any) map[string]metav1.Condition {
	out := map[string]metav1.Condition{}
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var c metav1.Condition
		if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &c) == nil {
			out[c.Type] = c
		}
	}
	return out
}

func statusOf(obj client.Object) (map[string]any, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	status, _ := u["status"].(map[string]any)
	// One round trip through JSON gives numbers and times the form in which wanted values are compared.
	v, err := toJSONValue(status)
	if err != nil {
		return nil, err
	}
	out, _ := v.(map[string]any)
	return out, nil
}

// toJSONValue turns any value into what encoding/json decodes, with integers kept as int64; nil for an empty value.
func toJSONValue(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	u := &struct {
		V any `json:"v"`
	}{}
	if err := unmarshalInts([]byte(`{"v":`+string(data)+`}`), u); err != nil {
		return nil, err
	}
	return u.V, nil
}
