package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"sigs.k8s.io/controller-runtime/pkg/source"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// profileAgent converges one profile at a time: home on disk, open or closed, reported.
type profileAgent struct {
	Options
	client  client.Client
	changed chan event.GenericEvent
	// served is called after the set of open profiles may have changed.
	served func()
	// opened is called with each profile that a pass left open.
	opened func(ctx context.Context, name string)

	mu      sync.Mutex
	written map[string]writtenHome
}

// writtenHome is what this run last wrote for one profile.
type writtenHome struct {
	uid  types.UID
	hash string
	// stamp of the home's files as they were left.
	stamp string
	// reported is when the store's figures were last reported.
	reported time.Time
}

func (a *profileAgent) setup(mgr ctrl.Manager) error {
	a.changed = make(chan event.GenericEvent)
	return ctrl.NewControllerManagedBy(mgr).
		Named("node-profile").
		For(&v1alpha1.Profile{}, builder.WithPredicates(specChanged())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(profileOfSecret)).
		WatchesRawSource(source.Channel(a.changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(a)
}

// specChanged lets through what the agent acts on; status is its own output.
func specChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			servedState(e.ObjectOld) != servedState(e.ObjectNew)
	}}
}

// servedState lets the agent see when somebody overruled its report while it was away.
func servedState(o client.Object) string {
	p, ok := o.(*v1alpha1.Profile)
	if !ok {
		return ""
	}
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.ConditionServed {
			return string(c.Status) + c.Reason
		}
	}
	return ""
}

func profileOfSecret(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelProfile]
	if name == "" || o.GetName() != v1alpha1.HomeSecretPrefix+name {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// Reconcile makes one pass over a profile.
func (a *profileAgent) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer a.served()
	p := &v1alpha1.Profile{}
	err := a.client.Get(ctx, req.NamespacedName, p)
	switch {
	case apierrors.IsNotFound(err):
		// Deleted, or bound to another gateway: the files stay, nobody has them open here.
		a.forget(req.Name)
		return ctrl.Result{}, a.Profiles.Close(ctx, req.Name)
	case err != nil:
		return ctrl.Result{}, err
	case !p.DeletionTimestamp.IsZero():
		return ctrl.Result{}, a.release(ctx, p)
	case p.Spec.Suspended:
		return ctrl.Result{}, a.suspend(ctx, p)
	}
	return a.serve(ctx, p)
}

// serve writes the home, has it opened and reports.
func (a *profileAgent) serve(ctx context.Context, p *v1alpha1.Profile) (ctrl.Result, error) {
	bundle, ok, err := a.bundle(ctx, p)
	if err != nil {
		return ctrl.Result{}, a.refuse(ctx, p, err)
	}
	if !ok {
		return ctrl.Result{}, nil // not rendered yet; the Secret's arrival starts another pass
	}
	paths, err := home.ForProfile(a.Root, p.Name)
	if err != nil {
		return ctrl.Result{}, a.refuse(ctx, p, err)
	}
	hash := bundle.Hash()
	if err := a.write(ctx, p, bundle, hash); err != nil {
		return ctrl.Result{}, a.refuse(ctx, p, err)
	}
	declared, err := bundle.Declaration()
	if err != nil {
		return ctrl.Result{}, a.refuse(ctx, p, err)
	}
	if err := a.Profiles.Open(ctx, paths, declared); err != nil {
		return ctrl.Result{}, a.refuse(ctx, p, err)
	}
	a.opened(ctx, p.Name)
	return a.report(ctx, p, paths, hash)
}

// bundle reads the home that the controller rendered for this very object; ok is false while there is none.
func (a *profileAgent) bundle(ctx context.Context, p *v1alpha1.Profile) (home.Bundle, bool, error) {
	secret := &corev1.Secret{}
	err := a.client.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: v1alpha1.HomeSecretPrefix + p.Name}, secret)
	if apierrors.IsNotFound(err) {
		return home.Bundle{}, false, nil
	}
	if err != nil {
		return home.Bundle{}, false, err
	}
	owner := metav1.GetControllerOf(secret)
	if owner == nil || owner.UID != p.UID {
		return home.Bundle{}, false, nil
	}
	b, err := home.Decode(secret.Data[v1alpha1.HomeSecretKey])
	if err != nil {
		return home.Bundle{}, false, err
	}
	if b.Profile != p.Name || b.Namespace != p.Namespace {
		return home.Bundle{}, false, fmt.Errorf("home Secret %s is for profile %s/%s", secret.Name, b.Namespace, b.Profile)
	}
	return b, true, nil
}

// write makes the home on disk hold the bundle; an unchanged one costs a look at its files. One that somebody changed
// is put right when it can be: the profile is open with what is declared, and says itself what it cannot use.
func (a *profileAgent) write(ctx context.Context, p *v1alpha1.Profile, b home.Bundle, hash string) error {
	a.mu.Lock()
	last := a.written[p.Name]
	a.mu.Unlock()
	written := last.uid == p.UID && last.hash == hash
	if written && last.stamp == a.stamp(p.Name) {
		return nil
	}
	res, err := home.Materialise(ctx, a.Root, b, home.Options{Now: a.Clock.Now(), AdoptExisting: a.AdoptExisting, Log: a.Log})
	switch {
	case err != nil && !written:
		return err
	case err != nil:
		a.Log.Error(err, "put the changed home right", "profile", p.Name)
	case written && res.Changed:
		a.Log.Info("somebody changed what is declared in the home: it was put right", "profile", p.Name, "written", res.Written)
	}
	a.Log.V(1).Info("home written", "profile", p.Name, "hash", hash, "result", res)
	a.mu.Lock()
	a.written[p.Name] = writtenHome{uid: p.UID, hash: hash, stamp: a.stamp(p.Name), reported: last.reported}
	a.mu.Unlock()
	return nil
}

// refuse closes the profile, because an older home may hold what was revoked, and says why.
// Faults that may pass are returned, so that they are tried again with back-off.
func (a *profileAgent) refuse(ctx context.Context, p *v1alpha1.Profile, cause error) error {
	a.forget(p.Name)
	reason, transient := refusal(cause)
	err := errors.Join(a.Profiles.Close(ctx, p.Name), a.writeServed(ctx, p, metav1.Condition{
		Type: v1alpha1.ConditionServed, Status: metav1.ConditionFalse, Reason: reason, Message: cause.Error(),
	}, nil))
	if transient {
		err = errors.Join(err, cause)
	}
	return err
}

// Refusal is an error of Profiles.Open that has a reason of its own.
type Refusal struct {
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Err says what to change.
	Err error
}

// Error returns what to change.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// refusal maps an error to the reason of Served and says whether trying again can help.
func refusal(err error) (reason string, transient bool) {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason, r.Reason != v1alpha1.ReasonStoreCorrupt
	}
	var onDisk *home.ErrConfigUnreadable
	if errors.As(err, &onDisk) {
		return v1alpha1.ReasonConfigInvalid, true // somebody may correct the file
	}
	switch reason := home.Reason(err); reason {
	case "", v1alpha1.ReasonHomeWriteFailed:
		return v1alpha1.ReasonHomeWriteFailed, true
	case v1alpha1.ReasonFileConflict, v1alpha1.ReasonHomeInUse:
		return reason, true // somebody may move the file away or let go of the home
	default:
		return reason, false
	}
}

func (a *profileAgent) suspend(ctx context.Context, p *v1alpha1.Profile) error {
	a.forget(p.Name)
	if err := a.Profiles.Close(ctx, p.Name); err != nil {
		return err
	}
	return a.writeServed(ctx, p, metav1.Condition{
		Type: v1alpha1.ConditionServed, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSuspended,
		Message: "closed because spec.suspended is true",
	}, nil)
}

// release closes a profile that is being deleted, removes its home if that is declared, and says that it let go.
func (a *profileAgent) release(ctx context.Context, p *v1alpha1.Profile) error {
	if err := a.Profiles.Close(ctx, p.Name); err != nil {
		return err
	}
	a.forget(p.Name)
	leave, message := home.Release, "closed; the home was kept"
	if p.Spec.DeletionPolicy == v1alpha1.DeletionDelete {
		leave, message = home.Remove, "closed; the home was removed"
	}
	if err := leave(ctx, a.Root, identityOf(p)); err != nil && !notOurs(err) {
		return err
	}
	err := a.writeServed(ctx, p, metav1.Condition{
		Type: v1alpha1.ConditionServed, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonClosed, Message: message,
	}, nil)
	return client.IgnoreNotFound(err)
}

func identityOf(p *v1alpha1.Profile) home.Identity {
	return home.Identity{Namespace: p.Namespace, Profile: p.Name, Gateway: p.Spec.GatewayRef.Name, UID: string(p.UID)}
}

// notOurs reports whether a home is not this object's to leave: it never was written, or has another owner by now.
func notOurs(err error) bool {
	var unmanaged *home.ErrNotManaged
	var inUse *home.ErrHomeInUse
	return errors.As(err, &unmanaged) || errors.As(err, &inUse)
}

func (a *profileAgent) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, name)
}
