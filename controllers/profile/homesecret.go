package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
	"hermes.dev/hermes/runtime/home"
)

// verifiedHomes remembers which version of a home Secret was seen to hold which
// home, so that a settled pass needs no read of secret values. It holds no values.
type verifiedHomes struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]verifiedHome
}

type verifiedHome struct {
	uid             types.UID
	resourceVersion string
	// want is the content hash and labels that this version was seen to hold.
	want string
	// at is when that was first seen.
	at time.Time
}

func (h verifiedHome) matches(m metav1.Object, want string) bool {
	return h.uid == m.GetUID() && h.resourceVersion == m.GetResourceVersion() && h.want == want
}

// holds reports since when this version is known to hold the wanted home.
func (v *verifiedHomes) holds(key types.NamespacedName, m metav1.Object, want string) (since time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	got, ok := v.seen[key]
	return got.at, ok && got.matches(m, want)
}

// record remembers what was seen and returns since when it is known.
func (v *verifiedHomes) record(key types.NamespacedName, m metav1.Object, want string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[types.NamespacedName]verifiedHome{}
	}
	if got, ok := v.seen[key]; ok && got.matches(m, want) {
		return got.at
	}
	v.seen[key] = verifiedHome{uid: m.GetUID(), resourceVersion: m.GetResourceVersion(), want: want, at: now}
	return now
}

func (v *verifiedHomes) forget(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.seen, key)
}

// bindHome makes the home Secret hold the rendered home, labelled for the gateway that may read it.
func (r *Reconciler) bindHome(ctx context.Context, s *scope) error {
	if !s.rendered {
		return nil
	}
	key := client.ObjectKeyFromObject(s.profile)
	want := s.hash + "/" + s.profile.Spec.GatewayRef.Name
	cached := &metav1.PartialObjectMetadata{}
	cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	name := types.NamespacedName{Namespace: key.Namespace, Name: homeSecretName(key.Name)}
	err := r.Client.Get(ctx, name, cached)
	if err == nil {
		if since, ok := r.homes.holds(key, cached, want); ok {
			s.bound = since
			return nil
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return r.bindFailed(s, err)
	}
	// The cache is behind or the content is unverified: look at the object itself before writing.
	live := &corev1.Secret{}
	err = r.Values.Get(ctx, name, live)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return r.bindFailed(s, err)
	default:
		if err := ssa.CheckOwner(live, s.profile); err != nil {
			return r.bindFailed(s, err)
		}
		if r.homeMatches(live, s) {
			s.bound = r.homes.record(key, live, want, r.Clock.Now())
			return nil
		}
	}
	applied, err := ssa.Apply(ctx, r.Client, Manager, r.homeSecret(s))
	if err != nil {
		return r.bindFailed(s, err)
	}
	s.bound = r.homes.record(key, applied, want, r.Clock.Now())
	return nil
}

// lastHome reads the home that the profile has; ok is false when it has none of ours.
func (r *Reconciler) lastHome(ctx context.Context, p *v1alpha1.Profile) (b home.Bundle, ok bool, err error) {
	live := &corev1.Secret{}
	err = r.Values.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: homeSecretName(p.Name)}, live)
	if apierrors.IsNotFound(err) {
		return home.Bundle{}, false, nil
	}
	if err != nil {
		return home.Bundle{}, false, err
	}
	if ssa.CheckOwner(live, p) != nil {
		return home.Bundle{}, false, nil
	}
	b, err = home.Decode(live.Data[v1alpha1.HomeSecretKey])
	if err != nil {
		return home.Bundle{}, false, nil // somebody damaged it; it is written again once the profile can be rendered
	}
	return b, true, nil
}

func (r *Reconciler) homeMatches(live *corev1.Secret, s *scope) bool {
	return len(live.Data) == 1 && bytes.Equal(live.Data[v1alpha1.HomeSecretKey], s.bundle.Encode()) &&
		live.Labels[v1alpha1.LabelGateway] == s.profile.Spec.GatewayRef.Name &&
		live.Labels[v1alpha1.LabelProfile] == s.profile.Name &&
		live.Annotations[v1alpha1.AnnotationHomeHash] == s.hash
}

func (r *Reconciler) homeSecret(s *scope) *corev1.Secret {
	p := s.profile
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: homeSecretName(p.Name), Namespace: p.Namespace,
			Labels:          map[string]string{v1alpha1.LabelGateway: p.Spec.GatewayRef.Name, v1alpha1.LabelProfile: p.Name},
			Annotations:     map[string]string{v1alpha1.AnnotationHomeHash: s.hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.GroupVersion.WithKind("Profile"))},
		},
		Type: v1alpha1.HomeSecretType,
		Data: map[string][]byte{v1alpha1.HomeSecretKey: s.bundle.Encode()},
	}
}

func (r *Reconciler) bindFailed(s *scope, err error) error {
	name := homeSecretName(s.profile.Name)
	if errors.Is(err, ssa.ErrForeign) {
		s.homeRendered = conditions.Stalled(v1alpha1.ConditionHomeRendered, v1alpha1.ReasonForeignObject,
			fmt.Sprintf("Secret %q exists and was not made for this Profile (%v): rename or delete it", name, err))
		return nil
	}
	s.homeRendered = conditions.Waiting(v1alpha1.ConditionHomeRendered, v1alpha1.ReasonReconciling, fmt.Sprintf("write Secret %s: %v", name, err))
	return err
}
