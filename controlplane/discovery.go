package controlplane

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// waitDiscovered waits until discovery lists every resource, in both of its forms. The server updates them a moment
// after it serves the resource; a program that starts in between learns of the group without this kind.
func waitDiscovered(ctx context.Context, cfg *rest.Config, resources []schema.GroupVersionResource) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, crdPoll, crdTimeout, true, func(context.Context) (bool, error) {
		last = undiscovered(client, resources)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for discovery: %w", errors.Join(err, last))
	}
	return nil
}

// undiscovered names what is missing from discovery; nil when nothing is.
func undiscovered(client *discovery.DiscoveryClient, resources []schema.GroupVersionResource) error {
	_, aggregated, _, err := client.GroupsAndMaybeResources()
	if err != nil {
		return err
	}
	single := map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, r := range resources {
		gv := r.GroupVersion()
		if _, asked := single[gv]; !asked {
			list, err := client.ServerResourcesForGroupVersion(gv.String())
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			single[gv] = list
		}
		if !lists(single[gv], r.Resource) || aggregated != nil && !lists(aggregated[gv], r.Resource) {
			return fmt.Errorf("%s is not listed", r.GroupResource())
		}
	}
	return nil
}

func lists(l *metav1.APIResourceList, resource string) bool {
	if l == nil {
		return false
	}
	for i := range l.APIResources {
		if l.APIResources[i].Name == resource {
			return true
		}
	}
	return false
}
