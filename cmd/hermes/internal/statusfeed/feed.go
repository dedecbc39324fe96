// Package statusfeed reads the objects that hermes status shows: once, with all kinds at the same time and
// without discovery, or as a watch that says when something changed. It must never write, and never poll.
package statusfeed

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// Query says what to read.
type Query struct {
	// Namespace to read, "" for all.
	Namespace string
	// Kind and Name narrow it to one kind and one object; empty means every one.
	Kind, Name string
}

// List reads once. Kinds are asked for at the same time. With a Kind the objects its state is told with are
// read too.
func List(ctx context.Context, client rest.Interface, q Query) (statusview.Snapshot, error) {
	kinds := q.kinds()
	objects := make([][]runtime.Object, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		group.Go(func() error {
			list := kind.NewList()
			err := client.Get().NamespaceIfScoped(q.Namespace, q.Namespace != "").Resource(kind.Resource).
				VersionedParams(q.options(), metav1.ParameterCodec).Do(ctx).Into(list)
			if err != nil {
				return fmt.Errorf("list %s: %w", kind.Resource, err)
			}
			objects[i], err = meta.ExtractList(list)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return statusview.Snapshot{}, err
	}
	return snapshot(slices.Concat(objects...)), nil
}

func (q Query) kinds() []kube.Kind {
	if q.Kind == "" {
		return kube.Kinds()
	}
	return slices.DeleteFunc(kube.Kinds(), func(k kube.Kind) bool { return k.Kind != q.Kind })
}

func (q Query) options() *metav1.ListOptions {
	o := &metav1.ListOptions{}
	if q.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", q.Name).String()
	}
	return o
}

func snapshot(objects []runtime.Object) statusview.Snapshot {
	var s statusview.Snapshot
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Gateway:
			s.Gateways = append(s.Gateways, *o)
		case *v1alpha1.Profile:
			s.Profiles = append(s.Profiles, *o)
		case *v1alpha1.RelayIdentity:
			s.RelayIdentities = append(s.RelayIdentities, *o)
		case *v1alpha1.MetricsConsent:
			s.MetricsConsents = append(s.MetricsConsents, *o)
		case *v1alpha1.Schedule:
			s.Schedules = append(s.Schedules, *o)
		}
	}
	return s
}

// Watch calls changed with what is there, and again each time something changes, until ctx ends or changed
// returns false. Changes that come while changed runs are one more call together.
func Watch(ctx context.Context, client rest.Interface, q Query, changed func(statusview.Snapshot) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal := make(chan struct{}, 1)
	wake := func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	var stores []cache.Store
	var group errgroup.Group
	defer group.Wait() //nolint:errcheck // the goroutines return nil
	defer cancel()
	for _, kind := range q.kinds() {
		store, informer := newInformer(client, kind, q, wake)
		stores = append(stores, store)
		group.Go(func() error { informer.RunWithContext(ctx); return nil })
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return ctx.Err()
		}
	}
	for {
		var objects []runtime.Object
		for _, store := range stores {
			for _, o := range store.List() {
				objects = append(objects, o.(runtime.Object))
			}
		}
		if !changed(snapshot(objects)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signal:
		}
	}
}

func newInformer(client rest.Interface, kind kube.Kind, q Query, wake func()) (cache.Store, cache.Controller) {
	narrow := func(o *metav1.ListOptions) { o.FieldSelector = q.options().FieldSelector }
	item := kind.NewItem()
	return cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewFilteredListWatchFromClient(client, kind.Resource, q.Namespace, narrow),
		ObjectType:    item,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { wake() },
			UpdateFunc: func(any, any) { wake() },
			DeleteFunc: func(any) { wake() },
		},
	})
}
