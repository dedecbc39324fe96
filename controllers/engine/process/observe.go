package process

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/host"
)

// phase is what a supervisor is doing.
type phase string

const (
	phaseLooking  phase = "Looking"  // for a gateway that runs already
	phaseForeign  phase = "Foreign"  // waits for somebody else's gateway to leave
	phaseQueued   phase = "Queued"   // waits for a start slot
	phaseStarting phase = "Starting" // spawned, not answering yet
	phaseRunning  phase = "Running"
	phaseDraining phase = "Draining"
	phaseEnding   phase = "Ending" // SIGTERM or SIGKILL is out
	phaseBackoff  phase = "Backoff"
	phaseStalled  phase = "Stalled" // refused, waits for a change
	phaseTrouble  phase = "Trouble" // the engine's own disk or binary does not work
	phaseStopped  phase = "Stopped"
)

// view is everything an observation is made of.
type view struct {
	Phase    phase
	Seen     seen
	Identity host.Identity
	// Foreign is who serves the home in phaseForeign.
	Foreign host.Identity
	// Active counts work in flight while draining.
	Active int
	// Unresponsive is set while a gateway is ended because it does not answer.
	Unresponsive bool
	// Outdated says what differs from what is wanted, "" when nothing.
	Outdated string
	// Trouble is the engine's own error.
	Trouble error
}

// observe turns a supervisor's state into what the reconciler reports.
func observe(v view) engine.Observation {
	o := engine.Observation{Restarts: v.Seen.Restarts, Instance: instanceOf(v)}
	o.Reason, o.Message = reasonOf(v)
	if e := v.Seen.LastExit; e != nil {
		o.LastExitReason = e.Reason
	}
	switch v.Phase {
	case phaseRunning:
		o.Running = true
		o.Current = v.Outdated == ""
		o.CurrentMessage = v.Outdated
	case phaseStalled:
		o.Stalled = true
	case phaseBackoff, phaseTrouble:
		o.NextAttempt = v.Seen.NextAttempt
	}
	if !o.Running {
		o.CurrentMessage = "the gateway does not run"
	}
	return o
}

func instanceOf(v view) *v1alpha1.GatewayInstance {
	run := v.Seen.Run
	if run == nil || run.PID == 0 {
		return nil
	}
	started := metav1.NewTime(run.StartedAt)
	return &v1alpha1.GatewayInstance{
		ID:        run.ID,
		PID:       int64(run.PID),
		StartedAt: &started,
		Revision:  v.Identity.Revision,
		APISocket: v.Identity.APISocket,
	}
}

func reasonOf(v view) (reason, message string) {
	switch v.Phase {
	case phaseForeign:
		return v1alpha1.ReasonHostOwnedElsewhere, fmt.Sprintf(
			"pid %d serves %s and is not managed by this operator: stop it, or use another home", v.Foreign.PID, v.Foreign.HermesHome)
	case phaseQueued:
		return v1alpha1.ReasonStarting, "waits for its turn: other gateways are starting"
	case phaseStarting:
		return v1alpha1.ReasonStarting, startingMessage(v)
	case phaseRunning:
		return v1alpha1.ReasonRunning, runningMessage(v)
	case phaseDraining, phaseEnding:
		return endingReason(v)
	case phaseBackoff, phaseStalled:
		if e := v.Seen.LastExit; e != nil {
			return e.Reason, e.Message
		}
		return v1alpha1.ReasonReconciling, "is started again"
	case phaseTrouble:
		return v1alpha1.ReasonEngineUnavailable, v.Trouble.Error()
	case phaseStopped:
		return v1alpha1.ReasonDeleting, "stopped"
	default:
		return v1alpha1.ReasonStarting, "looks for a gateway that runs already"
	}
}

func startingMessage(v view) string {
	message := fmt.Sprintf("pid %d was started and has not answered yet", v.Seen.Run.PID)
	if e := v.Seen.LastExit; e != nil {
		message += "; the run before " + e.Message
	}
	return message
}

func runningMessage(v view) string {
	message := fmt.Sprintf("pid %d answers", v.Seen.Run.PID)
	if c := v.Seen.Run.Confinement; c != "" {
		message += "; " + c
	}
	return message
}

func endingReason(v view) (reason, message string) {
	pid := 0
	if v.Seen.Run != nil {
		pid = v.Seen.Run.PID
	}
	switch {
	case v.Unresponsive:
		return v1alpha1.ReasonNotResponding, fmt.Sprintf("pid %d is alive and does not answer: it is restarted", pid)
	case v.Phase == phaseEnding:
		return v1alpha1.ReasonDraining, fmt.Sprintf("pid %d was asked to end", pid)
	case v.Active > 0:
		return v1alpha1.ReasonDraining, fmt.Sprintf("pid %d takes no new work and finishes what is in flight (%d)", pid, v.Active)
	default:
		return v1alpha1.ReasonDraining, fmt.Sprintf("pid %d takes no new work", pid)
	}
}

func stoppedObservation() engine.Observation { return observe(view{Phase: phaseStopped}) }
