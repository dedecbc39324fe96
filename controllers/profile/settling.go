package profile

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// firstReport is how long the gateway of a new Profile has to report, once its home is bound, before the status
// says that it is waited for. A report comes within milliseconds, and then the first status that is written is
// already the final one.
const firstReport = 5 * time.Second

// settling returns how long the first status of a Profile may still be left unwritten, or 0 when something is
// to be told: a status that was written before, anything wrong, or a gateway that does not answer. It is a
// pure function.
func settling(s *scope, now time.Time) time.Duration {
	p := s.profile
	if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady) != nil || !s.gatewayRunning() {
		return 0
	}
	if s.references.Status != metav1.ConditionTrue || s.homeRendered.Status != metav1.ConditionTrue {
		return 0
	}
	if s.served.Reason != v1alpha1.ReasonWaitingForGateway {
		return 0
	}
	return s.bound.Add(firstReport).Sub(now)
}
