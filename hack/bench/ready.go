package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// patience is the longest a scenario waits for something to become true.
const patience = 5 * time.Minute

// awaitReady waits until n Profiles are Ready for their current generation, by one watch: asking again and
// again would be load on what is measured.
func (s *stack) awaitReady(ctx context.Context, n int, ready func(*v1alpha1.Profile) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := map[string]bool{}
	for {
		w, err := s.client.Watch(ctx, &v1alpha1.ProfileList{}, client.InNamespace("default"))
		if err != nil {
			return fmt.Errorf("watch profiles: %w", err)
		}
		ok := count(w, done, n, ready)
		w.Stop()
		if ok {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d profiles ready: %w", len(done), n, ctx.Err())
		}
	}
}

// count reads events until n are ready; it reports false when the watch ended first.
func count(w watch.Interface, done map[string]bool, n int, ready func(*v1alpha1.Profile) bool) bool {
	for ev := range w.ResultChan() {
		p, ok := ev.Object.(*v1alpha1.Profile)
		if !ok {
			return false
		}
		if ev.Type != watch.Deleted && ready(p) {
			done[p.Name] = true
		} else {
			delete(done, p.Name)
		}
		if len(done) >= n {
			return true
		}
	}
	return false
}

func isReady(p *v1alpha1.Profile) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status == "True" && c.ObservedGeneration == p.Generation
}
