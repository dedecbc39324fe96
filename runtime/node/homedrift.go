package node

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// driftLook is how long a written home may differ from what is declared before it is looked at. What is declared holds
// meanwhile all the same: the open profile has it in memory.
const driftLook = 10 * time.Second

// drift starts a pass over every profile whose written files were changed by somebody else.
type drift struct {
	agent *profileAgent
	every time.Duration
}

// Start looks every so often until ctx ends. Implements manager.Runnable.
func (d drift) Start(ctx context.Context) error {
	ticker := time.NewTicker(d.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, name := range d.agent.drifted() {
			p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: d.agent.Namespace, Name: name}}
			select {
			case d.agent.changed <- event.GenericEvent{Object: p}:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// drifted lists the profiles whose homes are not as they were left, sorted.
func (a *profileAgent) drifted() []string {
	a.mu.Lock()
	stamps := make(map[string]string, len(a.written))
	for name, w := range a.written {
		stamps[name] = w.stamp
	}
	a.mu.Unlock()
	var names []string
	for name, stamp := range stamps {
		if a.stamp(name) != stamp {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stamp is the state of the files of a profile's home.
func (a *profileAgent) stamp(name string) string {
	paths, err := home.ForProfile(a.Root, name)
	if err != nil {
		return ""
	}
	return home.Stamp(paths)
}
