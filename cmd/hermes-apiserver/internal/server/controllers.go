package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	// namespaceResync re-examines terminating namespaces whose last pass failed without an error to retry.
	namespaceResync = 5 * time.Minute
	// collectorSync is how often the garbage collector asks which kinds exist: objects of a new kind are
	// not collected before. One request of discovery, which the server has ready.
	collectorSync        = 5 * time.Second
	collectorInitialSync = 30 * time.Second
)

// collectorIgnores are kinds that come and go by themselves: events expire.
var collectorIgnores = map[schema.GroupResource]struct{}{
	{Group: "", Resource: "events"}:              {},
	{Group: "events.k8s.io", Resource: "events"}: {},
}

// startControllers runs the controllers of kube-controller-manager without which an API server alone
// leaves things undone: terminating namespaces never end, children outlive their owners, and the
// aggregated roles (view, edit, admin) stay empty. They need a server that answers, and end with ctx.
func startControllers(ctx context.Context, c *chain) error {
	config := rest.CopyConfig(c.native.GenericAPIServer.LoopbackClientConfig)
	config.QPS = -1 // in-process: the server's own limits suffice
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	shared := c.native.VersionedInformers
	namespaces := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	roles := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())
	go namespaces.Run(ctx, 2)
	go roles.Run(ctx, 1)
	return startCollector(ctx, client, meta, shared)
}

func startCollector(ctx context.Context, client kubernetes.Interface, meta metadata.Interface, shared informers.SharedInformerFactory) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	started := make(chan struct{})
	close(started) // shared runs already
	owned := metadatainformer.NewSharedInformerFactory(meta, 0)
	gc, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, collectorIgnores,
		informerfactory.NewInformerFactory(shared, owned), started)
	if err != nil {
		return fmt.Errorf("garbage collector: %w", err)
	}
	go gc.Run(ctx, 2, collectorInitialSync)
	go gc.Sync(ctx, client.Discovery(), collectorSync)
	return nil
}
