package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

const (
	rolesHook  = "hermes/bootstrap-roles"
	rolesRetry = 50 * time.Millisecond
)

// bootstrapRoles are the default roles that mean something here. The hook of Kubernetes, which this
// replaces, waits a second before it begins and then writes seventy roles for the parts of a cluster.
var bootstrapRoles = []string{
	"cluster-admin", "admin", "edit", "view",
	"system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view",
	"system:basic-user", "system:discovery", "system:public-info-viewer", "system:monitoring",
}

// addRolesHook makes the server not ready until its default roles exist and are current.
func addRolesHook(server *genericapiserver.GenericAPIServer) error {
	return server.AddPostStartHook(rolesHook, func(hook genericapiserver.PostStartHookContext) error {
		config := rest.CopyConfig(hook.LoopbackClientConfig)
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("bootstrap roles: %w", err)
		}
		return wait.PollUntilContextCancel(hook, rolesRetry, true, func(ctx context.Context) (bool, error) {
			err := ensureRoles(client)
			if err != nil {
				klog.FromContext(ctx).Info("Default roles are not in place yet, will try again", "err", err)
			}
			return err == nil, nil
		})
	})
}

// ensureRoles creates what is missing and adds rules and subjects that were taken away, except where a
// person has set the annotation rbac.authorization.kubernetes.io/autoupdate to false.
func ensureRoles(client kubernetes.Interface) error {
	for _, role := range bootstrappolicy.ClusterRoles() {
		if !slices.Contains(bootstrapRoles, role.Name) {
			continue
		}
		options := reconciliation.ReconcileRoleOptions{
			Role:    reconciliation.ClusterRoleRuleOwner{ClusterRole: &role},
			Client:  reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()},
			Confirm: true,
		}
		if _, err := options.Run(); err != nil {
			return fmt.Errorf("cluster role %s: %w", role.Name, err)
		}
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		if !servedBinding(&binding) {
			continue
		}
		options := reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &binding},
			Client:      reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()},
			Confirm:     true,
		}
		if _, err := options.Run(); err != nil {
			return fmt.Errorf("cluster role binding %s: %w", binding.Name, err)
		}
	}
	return nil
}

func servedBinding(b *rbacv1.ClusterRoleBinding) bool {
	return slices.Contains(bootstrapRoles, b.RoleRef.Name)
}
