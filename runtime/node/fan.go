package node

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"hermes.dev/hermes/api/v1alpha1"
)

// fan turns announcements of changed profiles into reconcile requests.
type fan struct {
	in        <-chan string
	namespace string
	out       chan<- event.GenericEvent
}

func newFan(in <-chan string, namespace string, out chan<- event.GenericEvent) *fan {
	return &fan{in: in, namespace: namespace, out: out}
}

// Start forwards until ctx ends. Implements manager.Runnable.
func (f *fan) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name, ok := <-f.in:
			if !ok {
				return nil
			}
			p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
			select {
			case f.out <- event.GenericEvent{Object: p}:
			case <-ctx.Done():
				return nil
			}
		}
	}
}
