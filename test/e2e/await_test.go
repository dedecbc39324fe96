package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// await looks again and again until look returns "", which must happen within patience; else the test fails with what
// look said last.
func await(t *testing.T, what string, look func() string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), 25*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = look()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %s", what, patience, last)
	}
}

// AwaitObject reads an object until ok says that it is as it should be.
func AwaitObject[T client.Object](c *Cluster, k client.Client, o T, what string, ok func(T) bool) T {
	c.t.Helper()
	await(c.t, fmt.Sprintf("%T %s %s", o, client.ObjectKeyFromObject(o), what), func() string {
		if err := k.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if !ok(o) {
			return fmt.Sprintf("generation %d, conditions %s", o.GetGeneration(), describe(conditionsOf(o)))
		}
		return ""
	})
	return o
}

// AwaitCondition waits until a condition has a status and, unless reason is empty, a reason, for the current generation.
func AwaitCondition(c *Cluster, k client.Client, o client.Object, condition string, status metav1.ConditionStatus, reason string) metav1.Condition {
	c.t.Helper()
	var found metav1.Condition
	AwaitObject(c, k, o, fmt.Sprintf("%s=%s/%s", condition, status, reason), func(o client.Object) bool {
		got := meta.FindStatusCondition(conditionsOf(o), condition)
		if got == nil || got.ObservedGeneration != o.GetGeneration() || got.Status != status || (reason != "" && got.Reason != reason) {
			return false
		}
		found = *got
		return true
	})
	return found
}

// AwaitReady waits until objects are Ready.
func AwaitReady(c *Cluster, k client.Client, objects ...client.Object) {
	c.t.Helper()
	for _, o := range objects {
		AwaitCondition(c, k, o, v1alpha1.ConditionReady, metav1.ConditionTrue, "")
	}
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Profile:
		return o.Status.Conditions
	case *v1alpha1.Gateway:
		return o.Status.Conditions
	}
	return nil
}

func describe(conditions []metav1.Condition) string {
	s := ""
	for _, c := range conditions {
		s += fmt.Sprintf("\n  %s=%s/%s (generation %d) %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return s
}

func profile(name string) *v1alpha1.Profile { return profileIn("default", name) }

func profileIn(namespace, name string) *v1alpha1.Profile {
	return &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func gateway(name string) *v1alpha1.Gateway { return gatewayIn("default", name) }

func gatewayIn(namespace, name string) *v1alpha1.Gateway {
	return &v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
