package server

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// tokenGetter looks up what a service account token may be bound to. Secret-based tokens are never
// issued here, and looking them up would keep every Secret of the control plane in memory, so only the
// account itself exists.
type tokenGetter struct {
	accounts corelisters.ServiceAccountLister
}

func newTokenGetter(factory informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
	return tokenGetter{accounts: factory.Core().V1().ServiceAccounts().Lister()}
}

func (g tokenGetter) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return g.accounts.ServiceAccounts(namespace).Get(name)
}

func (tokenGetter) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, notServed(corev1.Resource("pods"), name)
}

func (tokenGetter) GetSecret(_ context.Context, _, name string) (*corev1.Secret, error) {
	return nil, notServed(corev1.Resource("secrets"), name)
}

func (tokenGetter) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return nil, notServed(corev1.Resource("nodes"), name)
}

func (tokenGetter) GetValidatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return nil, notServed(admissionregistrationv1.Resource("validatingwebhookconfigurations"), name)
}

func (tokenGetter) GetMutatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return nil, notServed(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), name)
}

func notServed(r schema.GroupResource, name string) error { return apierrors.NewNotFound(r, name) }
