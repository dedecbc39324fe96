package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
	"hermes.dev/hermes/controllers/engine"
)

// Manager is the field manager of everything this reconciler writes.
const Manager = "hermes-gateway"

// Reconciler converges Gateways.
type Reconciler struct {
	// Client reads from a cache and writes.
	Client client.Client
	// Events records events about Gateways.
	Events events.EventRecorder
	// Clock stamps condition transitions.
	Clock clock.PassiveClock
	// Engines by type; a Gateway whose engine is not here stalls with EngineUnavailable.
	Engines map[v1alpha1.EngineType]engine.Engine
	// Metrics counts restarts; nil counts nothing.
	Metrics *Metrics
	// HomeRoot is the directory below which Gateways without spec.home live.
	HomeRoot string
	// ResolvePath makes two spellings of one directory equal (symbolic links), best effort.
	ResolvePath func(string) string

	latest ssa.Latest
}

// scope is what one reconcile pass reads and finds.
type scope struct {
	gateway *v1alpha1.Gateway
	home    string
	// claim says why the home root is not this Gateway's; nil when it is.
	claim *conditions.Finding
	// claimUnknown is set when the claims could not be read: nothing is started or stopped on a guess.
	claimUnknown bool
	observe      engine.Observation

	running, current conditions.Finding
}

var ownedConditions = []string{
	v1alpha1.ConditionRunning, v1alpha1.ConditionCurrent,
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
}

var ownedFields = []string{"observedGeneration", "home", "instance", "restarts", "nextAttempt"}

// Reconcile makes one pass over a Gateway: every step runs, then one patch sums up.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	gw := &v1alpha1.Gateway{}
	if err := r.Client.Get(ctx, req.NamespacedName, gw); err != nil {
		r.latest.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.latest.Refresh(gw)
	s := &scope{gateway: gw, home: HomeOf(gw, r.HomeRoot)}
	if !gw.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, s)
	}
	err := errors.Join(
		r.ensureFinalizer(ctx, s),
		r.checkClaim(ctx, s),
		r.ensureRunning(ctx, s),
	)
	return ctrl.Result{}, errors.Join(err, r.summarise(ctx, s))
}

func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	if controllerutil.ContainsFinalizer(s.gateway, v1alpha1.FinalizerProcess) {
		return nil
	}
	return ssa.Finalizers(ctx, r.Client, Manager, s.gateway, v1alpha1.FinalizerProcess)
}

// ensureRunning hands the workload to its engine and reads what the engine observes.
func (r *Reconciler) ensureRunning(ctx context.Context, s *scope) error {
	eng := r.Engines[s.gateway.Spec.Engine]
	if eng == nil {
		s.running = conditions.Stalled(v1alpha1.ConditionRunning, v1alpha1.ReasonEngineUnavailable,
			fmt.Sprintf("this operator has no engine %q: create the Gateway with an engine it offers", s.gateway.Spec.Engine))
		s.current = unknownCurrent("nothing runs")
		return nil
	}
	if s.claim != nil {
		s.running, s.current = *s.claim, unknownCurrent("nothing runs")
		if s.claimUnknown {
			return nil
		}
		// A claim that was lost after the gateway had started must not leave it running.
		o, gone, err := eng.Stop(ctx, client.ObjectKeyFromObject(s.gateway))
		if !gone {
			s.observe = o
		}
		return err
	}
	o, err := eng.Ensure(ctx, workload(s.gateway, s.home))
	if err != nil {
		s.running = conditions.FromError(v1alpha1.ConditionRunning, v1alpha1.ReasonReconciling, err)
		s.current = unknownCurrent("not known")
		return err
	}
	s.observe = o
	s.running, s.current = runningFinding(o), currentFinding(s.gateway, o)
	return nil
}

func workload(gw *v1alpha1.Gateway, home string) engine.Workload {
	w := engine.Workload{
		Ref: client.ObjectKeyFromObject(gw), UID: gw.UID,
		Home: home, AdoptExistingHome: gw.Spec.AdoptExistingHome,
		RestartToken: gw.Annotations[v1alpha1.AnnotationRestartedAt],
		AutoUpdate:   gw.Spec.UpdatePolicy.Mode != v1alpha1.UpdateManual,
	}
	if gw.Spec.DrainTimeout != nil {
		w.DrainTimeout = gw.Spec.DrainTimeout.Duration
	}
	if p := gw.Spec.Process; p != nil {
		w.LogDir = p.LogDir
		if p.MemoryLimit != nil {
			w.MemoryLimit = p.MemoryLimit.Value()
		}
		for _, e := range p.Env {
			w.Env = append(w.Env, e.Name+"="+e.Value)
		}
	}
	return w
}

func runningFinding(o engine.Observation) conditions.Finding {
	f := conditions.Finding{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionFalse, Reason: o.Reason, Message: o.Message, Stalled: o.Stalled}
	if o.Running {
		f.Status = metav1.ConditionTrue
	}
	return f
}

// currentFinding says whether the run executes what is installed. With a manual
// update policy being outdated is what the person asked for, so it does not count towards Ready.
func currentFinding(gw *v1alpha1.Gateway, o engine.Observation) conditions.Finding {
	switch {
	case o.Instance == nil:
		return unknownCurrent("nothing runs")
	case o.Current:
		return conditions.OK(v1alpha1.ConditionCurrent, v1alpha1.ReasonCurrent, "runs the installed code and settings")
	default:
		message := o.CurrentMessage
		if message == "" {
			message = "runs other code or settings than are installed"
		}
		f := conditions.Waiting(v1alpha1.ConditionCurrent, v1alpha1.ReasonOutdated, message)
		f.Informative = gw.Spec.UpdatePolicy.Mode == v1alpha1.UpdateManual
		return f
	}
}

func unknownCurrent(message string) conditions.Finding {
	return conditions.Finding{Type: v1alpha1.ConditionCurrent, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonReconciling, Message: message, Informative: true}
}

// summarise owns the conditions: it patches them once, when they differ, and tells about a change of Ready.
func (r *Reconciler) summarise(ctx context.Context, s *scope) error {
	gw := s.gateway
	conds := conditions.Summarise(gw.Generation, "running and answering", s.running, s.current)
	fields := map[string]any{"observedGeneration": gw.Generation, "home": s.home}
	if s.observe.Instance != nil {
		fields["instance"] = s.observe.Instance
	}
	if s.observe.Restarts > 0 {
		fields["restarts"] = s.observe.Restarts
	}
	if !s.observe.NextAttempt.IsZero() {
		fields["nextAttempt"] = metav1.NewTime(s.observe.NextAttempt)
	}
	if _, err := r.writer(s, fields).Write(ctx, gw, conds, fields); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.Metrics.restarted(gw, s.observe, s.running.Reason)
	if e := conditions.Transition(gw.Status.Conditions, conds); e != nil {
		r.Events.Eventf(gw, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return nil
}

// writer takes the served set over from the gateway while no process is there to
// report it, so that it never outlives the process.
func (r *Reconciler) writer(s *scope, fields map[string]any) ssa.StatusWriter {
	owned := slices.Clone(ownedFields)
	if s.observe.Instance == nil {
		if s.gateway.Status.ServedProfiles != nil {
			owned = append(owned, "servedProfiles")
			fields["servedProfiles"] = 0
		}
		if len(s.gateway.Status.Profiles) > 0 {
			owned = append(owned, "profiles")
			fields["profiles"] = []string{}
		}
	}
	return ssa.StatusWriter{
		Client: r.Client, Manager: Manager, Now: r.Clock.Now, Latest: &r.latest,
		Owned: ssa.Owned{ConditionTypes: ownedConditions, Fields: owned},
	}
}

// finalize stops the gateway and lets the object go once nothing of it runs.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.gateway, v1alpha1.FinalizerProcess) {
		return nil
	}
	if eng := r.Engines[s.gateway.Spec.Engine]; eng != nil {
		o, gone, err := eng.Stop(ctx, client.ObjectKeyFromObject(s.gateway))
		if err != nil {
			return err
		}
		if !gone {
			s.observe = o
			s.running = conditions.Waiting(v1alpha1.ConditionRunning, v1alpha1.ReasonDraining, o.Message)
			s.current = unknownCurrent("being stopped")
			return r.summarise(ctx, s)
		}
	}
	return client.IgnoreNotFound(ssa.Finalizers(ctx, r.Client, Manager, s.gateway))
}
