package profile

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

const (
	indexGateway   = "hermes.spec.gatewayRef.name"
	indexSecret    = "hermes.references.secret"
	indexConfigMap = "hermes.references.configmap"
)

// SetupWithManager registers the reconciler: it runs when a Profile, its
// Gateway's existence or Running condition, or anything it refers to changes.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	if err := index(ctx, mgr); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("profile").
		For(&v1alpha1.Profile{}, builder.WithPredicates(profileChanged())).
		Watches(&v1alpha1.Gateway{}, r.byIndex(indexGateway), builder.WithPredicates(gatewayChanged())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.secretToProfiles)).
		WatchesMetadata(&corev1.ConfigMap{}, r.byIndex(indexConfigMap)).
		WithOptions(o).
		Complete(r)
}

func index(ctx context.Context, mgr ctrl.Manager) error {
	ix := mgr.GetFieldIndexer()
	if err := ix.IndexField(ctx, &v1alpha1.Profile{}, indexGateway, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Profile).Spec.GatewayRef.Name}
	}); err != nil {
		return err
	}
	if err := ix.IndexField(ctx, &v1alpha1.Profile{}, indexSecret, referenceIndex(home.KindSecret)); err != nil {
		return err
	}
	return ix.IndexField(ctx, &v1alpha1.Profile{}, indexConfigMap, referenceIndex(home.KindConfigMap))
}

func referenceIndex(kind string) client.IndexerFunc {
	return func(o client.Object) []string {
		var names []string
		seen := map[string]bool{}
		for _, ref := range home.References(o.(*v1alpha1.Profile)) {
			if ref.Kind == kind && !seen[ref.Name] {
				seen[ref.Name] = true
				names = append(names, ref.Name)
			}
		}
		return names
	}
}

// byIndex enqueues the Profiles whose index holds the changed object's name.
func (r *Reconciler) byIndex(indexName string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.list(ctx, o.GetNamespace(), indexName, o.GetName())
	})
}

func (r *Reconciler) list(ctx context.Context, namespace, indexName, value string) []reconcile.Request {
	var list v1alpha1.ProfileList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{indexName: value}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list profiles", "index", indexName)
		return nil
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}

// secretToProfiles maps a home Secret to its Profile, and any Secret to the Profiles that refer to it.
func (r *Reconciler) secretToProfiles(ctx context.Context, o client.Object) []reconcile.Request {
	out := r.list(ctx, o.GetNamespace(), indexSecret, o.GetName())
	if name, ok := profileOfHomeSecret(o.GetName()); ok {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return out
}

func profileOfHomeSecret(name string) (string, bool) {
	if len(name) <= len(v1alpha1.HomeSecretPrefix) || name[:len(v1alpha1.HomeSecretPrefix)] != v1alpha1.HomeSecretPrefix {
		return "", false
	}
	return name[len(v1alpha1.HomeSecretPrefix):], true
}

// profileChanged lets through what a pass depends on: spec, deletion, finalizers and the gateway's report; not our own status.
func profileChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, aok := e.ObjectOld.(*v1alpha1.Profile)
		b, bok := e.ObjectNew.(*v1alpha1.Profile)
		if !aok || !bok {
			return true
		}
		return a.Generation != b.Generation || a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero() ||
			!slices.Equal(a.Finalizers, b.Finalizers) || report(a) != report(b)
	}}
}

type gatewayReport struct {
	status, reason, message string
	gateway                 v1alpha1.ProfileGatewayStatus
}

func report(p *v1alpha1.Profile) gatewayReport {
	var out gatewayReport
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionServed); c != nil {
		out.status, out.reason, out.message = string(c.Status), c.Reason, c.Message
	}
	if p.Status.Gateway != nil {
		out.gateway = *p.Status.Gateway
	}
	return out
}

func gatewayChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return gatewayState(e.ObjectOld) != gatewayState(e.ObjectNew)
	}}
}

type gatewayView struct{ running, reason, instance string }

func gatewayState(o client.Object) gatewayView {
	g, ok := o.(*v1alpha1.Gateway)
	if !ok {
		return gatewayView{}
	}
	v := gatewayView{}
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRunning); c != nil {
		v.running, v.reason = string(c.Status), c.Reason
		if c.Status == metav1.ConditionTrue {
			v.reason = ""
		}
	}
	if g.Status.Instance != nil {
		v.instance = g.Status.Instance.ID
	}
	return v
}
