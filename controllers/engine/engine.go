// Package engine says where a Gateway runs. The gateway reconciler knows only
// this interface; engine/process supervises child processes on this machine,
// engine/kubernetes writes a StatefulSet.
//
// An engine owns running things and what it must remember of them. It never
// reads or writes hermes.dev objects: the reconciler does that.
package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/api/v1alpha1"
)

// Ref names one gateway workload: the namespace and name of its Gateway.
type Ref = types.NamespacedName

// Workload is everything an engine must know to run one gateway, resolved from
// a Gateway's spec.
type Workload struct {
	Ref
	// UID of the Gateway object; a new object of the same name is a new workload.
	UID types.UID
	// Home is the absolute home root.
	Home string
	// AdoptExistingHome allows a root that holds somebody's unmanaged home.
	AdoptExistingHome bool
	// Env are variables of the gateway process as KEY=VALUE, in declared order.
	Env []string
	// MemoryLimit in bytes; 0 means none.
	MemoryLimit int64
	// LogDir is an absolute directory, or empty for the engine's own choice.
	LogDir string
	// DrainTimeout bounds the wait for turns in flight; every outer wait derives from it.
	DrainTimeout time.Duration
	// RestartToken asks for one drained restart each time it changes.
	RestartToken string
	// AutoUpdate lets the engine restart the gateway (draining) when the installed code
	// or the settings above differ from the running ones.
	AutoUpdate bool
}

// Observation is what an engine knows of one workload at this moment.
type Observation struct {
	// Running is true while the process runs and answers with proven identity.
	Running bool
	// Reason of condition Running, one of the v1alpha1.Reason constants.
	Reason string
	// Message says what is the case and what to do, for people.
	Message string
	// Stalled is true when only a change by a person can help.
	Stalled bool
	// Instance is the current run, nil when nothing runs.
	Instance *v1alpha1.GatewayInstance
	// Current is true when the run executes the installed code with the wanted settings.
	Current bool
	// CurrentMessage says what differs when Current is false.
	CurrentMessage string
	// Restarts counts unplanned restarts since the workload last changed.
	Restarts int32
	// LastExitReason is why the latest unplanned end came, a v1alpha1.Reason constant; "" when there was none since the
	// workload last changed.
	LastExitReason string
	// NextAttempt is when a failed gateway is started again; zero when none is planned.
	NextAttempt time.Time
}

// Engine runs gateways. Implementations are safe for concurrent use and
// idempotent: calling Ensure again with the same workload changes nothing.
type Engine interface {
	// Ensure makes the workload the wanted one and returns what is observed now. It does not
	// wait for the gateway to become ready: a later change is announced through Changes.
	Ensure(ctx context.Context, w Workload) (Observation, error)
	// Stop makes "not running" the wanted state. gone is true once nothing of the workload
	// runs; until then the observation says what it waits for.
	Stop(ctx context.Context, ref Ref) (o Observation, gone bool, err error)
	// Changes announces workloads whose observation may have changed.
	Changes() <-chan Ref
}
