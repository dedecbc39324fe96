package node

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

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

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/cron"
)

const indexProfile = "hermes.spec.profileRef.name"

// brokenInterval is how often a job store that cannot be read is tried again.
const brokenInterval = 30 * time.Second

// scheduleAgent converges the Schedules of one profile at a time into its job store, and the store back into their
// status. A job of a Schedule that is gone is removed by the next pass, so a gateway that was down misses no deletion.
// Jobs that no Schedule declares are not touched.
type scheduleAgent struct {
	Options
	client  client.Client
	changed chan event.GenericEvent
	latest  ssa.Latest

	mu sync.Mutex
	// seen is the revision of each profile's store that the last pass began with.
	seen map[string]string
	// declared is what each owner's job was after the last pass.
	declared map[string]declaredJob
}

type declaredJob struct {
	generation int64
	job        cron.Job
}

func (a *scheduleAgent) setup(ctx context.Context, mgr ctrl.Manager) error {
	a.changed = make(chan event.GenericEvent)
	a.seen, a.declared = map[string]string{}, map[string]declaredJob{}
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Schedule{}, indexProfile, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Schedule).Spec.ProfileRef.Name}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("node-schedule").
		Watches(&v1alpha1.Schedule{}, handler.EnqueueRequestsFromMapFunc(profileOfSchedule), builder.WithPredicates(declarationChanged())).
		WatchesRawSource(source.Channel(a.changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(a)
}

// declarationChanged lets through what the agent acts on; status is its own output.
func declarationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

func profileOfSchedule(_ context.Context, o client.Object) []reconcile.Request {
	s, ok := o.(*v1alpha1.Schedule)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.ProfileRef.Name}}}
}

// look asks for a pass over a profile's Schedules.
func (a *scheduleAgent) look(ctx context.Context, profile string) {
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: profile}}
	select {
	case a.changed <- event.GenericEvent{Object: p}:
	case <-ctx.Done():
	}
}

// Reconcile makes one pass over the Schedules of a profile that is open here.
func (a *scheduleAgent) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.Profile{}
	err := a.client.Get(ctx, req.NamespacedName, p)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	store, ok := a.Profiles.Jobs(req.Name)
	if err != nil || !ok || !p.DeletionTimestamp.IsZero() {
		a.forget(req.Name)
		return ctrl.Result{}, nil
	}
	var list v1alpha1.ScheduleList
	if err := a.client.List(ctx, &list, client.InNamespace(req.Namespace), client.MatchingFields{indexProfile: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	revision, err := store.Revision()
	jobs := map[string]cron.Job{}
	if err == nil {
		jobs, err = declaredJobs(store, ownerPrefix(req.Namespace))
	}
	if len(list.Items) == 0 && len(jobs) == 0 {
		a.forget(req.Name) // nothing is declared: what changes is of no concern here
		return ctrl.Result{}, nil
	}
	a.remember(req.Name, revision)
	if err != nil {
		// A change of the file is seen by its revision, and one of its permissions is not.
		return ctrl.Result{RequeueAfter: brokenInterval}, a.refuseAll(ctx, list.Items, unavailable(err))
	}
	return ctrl.Result{}, a.converge(ctx, store, list.Items, jobs)
}

// declaredJobs returns the jobs that Schedules declare, by owner.
func declaredJobs(store JobStore, prefix string) (map[string]cron.Job, error) {
	all, err := store.Jobs()
	if err != nil {
		return nil, err
	}
	jobs := map[string]cron.Job{}
	for _, j := range all {
		if strings.HasPrefix(j.DeclaredBy, prefix) {
			jobs[j.DeclaredBy] = j
		}
	}
	return jobs, nil
}

// converge declares what is declared and removes what is not any more; one broken Schedule never hides the others.
func (a *scheduleAgent) converge(ctx context.Context, store JobStore, schedules []v1alpha1.Schedule, jobs map[string]cron.Job) error {
	var errs []error
	wanted := map[string]bool{}
	for i := range schedules {
		s := &schedules[i]
		if !s.DeletionTimestamp.IsZero() {
			continue
		}
		wanted[ownerOf(s)] = true
		errs = append(errs, a.declare(ctx, store, s, jobs))
	}
	for owner := range jobs {
		if !wanted[owner] {
			a.Log.V(1).Info("job of a Schedule that is gone removed", "owner", owner)
			errs = append(errs, store.Undeclare(ctx, owner))
			a.setDeclared(owner, declaredJob{})
		}
	}
	return errors.Join(errs...)
}

// declare makes one job be as declared and reports on it.
func (a *scheduleAgent) declare(ctx context.Context, store JobStore, s *v1alpha1.Schedule, jobs map[string]cron.Job) error {
	a.latest.Refresh(s)
	owner, now := ownerOf(s), a.Clock.Now()
	job, found := jobs[owner]
	if done(s, found) {
		return nil
	}
	if last := a.lastDeclared(owner); !found || last.generation != s.Generation || !reflect.DeepEqual(last.job, job) {
		if r := invalid(s, now); r != nil {
			return a.report(ctx, s, refused(r))
		}
		made, _, err := store.Declare(ctx, owner, newJob(s))
		if err != nil {
			r, transient := refusedJob(err)
			if err = a.report(ctx, s, refused(r)); transient {
				err = errors.Join(err, r)
			}
			return err
		}
		job = made
		a.setDeclared(owner, declaredJob{s.Generation, job})
	}
	return a.report(ctx, s, observed(s, job, now))
}

func refused(r *Refusal) scheduleReport {
	return scheduleReport{condition: metav1.Condition{
		Type: v1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: r.Reason, Message: r.Error(),
	}}
}

func (a *scheduleAgent) refuseAll(ctx context.Context, schedules []v1alpha1.Schedule, r *Refusal) error {
	var errs []error
	for i := range schedules {
		a.latest.Refresh(&schedules[i])
		errs = append(errs, a.report(ctx, &schedules[i], refused(r)))
	}
	return errors.Join(errs...)
}

// report applies the agent's part of a Schedule's status when it differs.
func (a *scheduleAgent) report(ctx context.Context, s *v1alpha1.Schedule, r scheduleReport) error {
	r.condition.ObservedGeneration = s.Generation
	w := ssa.StatusWriter{
		Client: a.client, Manager: Manager, Now: a.Clock.Now, Latest: &a.latest,
		Owned: ssa.Owned{ConditionTypes: []string{v1alpha1.ConditionScheduled}, Fields: []string{"nextRun", "lastRun", "active"}},
	}
	fields := map[string]any{"nextRun": r.nextRun, "lastRun": r.lastRun}
	if r.active {
		fields["active"] = true
	}
	_, err := w.Write(ctx, s, []metav1.Condition{r.condition}, fields)
	return client.IgnoreNotFound(err)
}

func (a *scheduleAgent) lastDeclared(owner string) declaredJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.declared[owner]
}

// setDeclared remembers a job as declared; a zero one is forgotten.
func (a *scheduleAgent) setDeclared(owner string, d declaredJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.generation == 0 {
		delete(a.declared, owner)
		return
	}
	a.declared[owner] = d
}

func (a *scheduleAgent) remember(profile, revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[profile] = revision
}

func (a *scheduleAgent) forget(profile string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, profile)
}
