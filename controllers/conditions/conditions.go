// Package conditions turns what the steps of a reconcile pass found into the
// conditions and the one event that people see. It is shared by all reconcilers
// and does no I/O.
package conditions

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// Finding is what one step found about one condition.
type Finding struct {
	// Type of the condition.
	Type string
	// Status of the condition.
	Status metav1.ConditionStatus
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Message says what is the case and, when something is wrong, what to change.
	Message string
	// Stalled is true when only a change by a person can help.
	Stalled bool
	// Reported is true when another writer owns the condition: it counts towards Ready and is not written.
	Reported bool
	// Quiet is true when the state was asked for: neither Reconciling nor Stalled is raised.
	Quiet bool
	// Informative is true when the condition does not count towards Ready.
	Informative bool
}

// OK is a finding that something is as declared.
func OK(conditionType, reason, message string) Finding {
	return Finding{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// Waiting is a finding that something is not there yet and may come by itself.
func Waiting(conditionType, reason, message string) Finding {
	return Finding{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Stalled is a finding that a person must change something.
func Stalled(conditionType, reason, message string) Finding {
	return Finding{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message, Stalled: true}
}

// Summarise returns the conditions of a pass: every finding that this writer
// owns, then Ready, then Reconciling or Stalled while true. The first finding
// that counts and is not True decides Ready, so list findings by how close they
// are to the cause.
func Summarise(generation int64, readyMessage string, findings ...Finding) []metav1.Condition {
	ready := Finding{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, Message: readyMessage}
	var out []metav1.Condition
	decided := false
	for _, f := range findings {
		if !f.Reported {
			out = append(out, condition(generation, f))
		}
		if !decided && !f.Informative && f.Status != metav1.ConditionTrue {
			decided = true
			ready.Status, ready.Reason, ready.Message, ready.Stalled = metav1.ConditionFalse, f.Reason, f.Message, f.Stalled
			ready.Quiet = f.Quiet
		}
	}
	out = append(out, condition(generation, ready))
	if decided && !ready.Quiet {
		progress := ready
		progress.Type, progress.Status = v1alpha1.ConditionReconciling, metav1.ConditionTrue
		if ready.Stalled {
			progress.Type = v1alpha1.ConditionStalled
		}
		out = append(out, condition(generation, progress))
	}
	return out
}

func condition(generation int64, f Finding) metav1.Condition {
	return metav1.Condition{Type: f.Type, Status: f.Status, Reason: f.Reason, Message: limit(f.Message, maxMessage), ObservedGeneration: generation}
}

// maxMessage keeps a condition's message within what the API accepts (32 KiB) with
// room to spare; maxNote is what it accepts for an event: a longer one is dropped.
const maxMessage, maxNote = 4096, 1000

// limit cuts s to at most n bytes of whole characters.
func limit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}

// Event is what to tell about a change of Ready, if anything.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is the reason of Ready.
	Reason string
	// Message is the message of Ready.
	Message string
}

// Transition returns the event that the change from old to new Ready deserves,
// or nil: becoming Ready, each new cause that needs a person, a state that was
// asked for, and the loss of Ready to anything but a change that is being carried
// out. Being on the way is not told, so a settled or waiting object makes no events.
func Transition(old, new []metav1.Condition) *Event {
	was, is := meta.FindStatusCondition(old, v1alpha1.ConditionReady), meta.FindStatusCondition(new, v1alpha1.ConditionReady)
	if is == nil || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	e := &Event{Type: "Warning", Reason: is.Reason, Message: limit(is.Message, maxNote)}
	lost := was != nil && was.Status == metav1.ConditionTrue && is.Reason != v1alpha1.ReasonReconciling
	onTheWay := meta.IsStatusConditionTrue(new, v1alpha1.ConditionReconciling)
	switch {
	case is.Status == metav1.ConditionTrue:
		e.Type = "Normal"
	case meta.IsStatusConditionTrue(new, v1alpha1.ConditionStalled):
	case !onTheWay: // asked for
		e.Type = "Normal"
	case !lost:
		return nil
	}
	return e
}

// Terminal is an error that only a change by a person can cure: it becomes a
// condition and is not retried.
type Terminal struct {
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Err says what to change.
	Err error
}

// Error returns what to change.
func (t *Terminal) Error() string { return t.Err.Error() }

// Unwrap returns the cause.
func (t *Terminal) Unwrap() error { return t.Err }

// FromError turns an error into a finding: a Terminal stalls with its reason;
// any other error is transient, is shown, and is left to the caller to retry.
func FromError(conditionType, fallbackReason string, err error) Finding {
	var t *Terminal
	if errors.As(err, &t) {
		return Stalled(conditionType, t.Reason, t.Error())
	}
	return Waiting(conditionType, fallbackReason, err.Error())
}
