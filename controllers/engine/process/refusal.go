package process

import (
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
)

// refusalPrefix starts the line a gateway writes last when it refuses to run.
const refusalPrefix = "hermes-refusal: "

// refusal is a gateway's own statement of why it does not run.
type refusal struct {
	// Reason is a v1alpha1 reason, or empty when the gateway named none that is known here.
	Reason string
	// Message for people.
	Message string
}

// parseRefusal reads `hermes-refusal: <Reason>: message`. ok is false for any
// other line. An unknown reason stays part of the message, so that nothing the
// gateway said is lost and no reason enters a condition that is not documented.
func parseRefusal(line string) (r refusal, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), refusalPrefix)
	if !ok {
		return refusal{}, false
	}
	text = cleanLine(text)
	if reason, message, found := strings.Cut(text, ":"); found && refusable(strings.TrimSpace(reason)) {
		return refusal{Reason: strings.TrimSpace(reason), Message: strings.TrimSpace(message)}, true
	}
	return refusal{Message: strings.TrimSpace(text)}, true
}

// refusable reports the reasons for which a gateway may refuse to run.
func refusable(reason string) bool {
	switch reason {
	case v1alpha1.ReasonConfigurationRefused,
		v1alpha1.ReasonHomeNotOurs,
		v1alpha1.ReasonHomeUnwritable,
		v1alpha1.ReasonHomeInUse,
		v1alpha1.ReasonHomeClaimed,
		v1alpha1.ReasonHostOwnedElsewhere,
		v1alpha1.ReasonConfigInvalid,
		v1alpha1.ReasonCredentialMissing,
		v1alpha1.ReasonSecretNotFound,
		v1alpha1.ReasonConfigMapNotFound,
		v1alpha1.ReasonPathInvalid,
		v1alpha1.ReasonHomeTooLarge,
		v1alpha1.ReasonFileConflict,
		v1alpha1.ReasonHomeWriteFailed,
		v1alpha1.ReasonStoreCorrupt,
		v1alpha1.ReasonStoreUnavailable,
		v1alpha1.ReasonEngineUnavailable,
		v1alpha1.ReasonNotImplemented:
		return true
	}
	return false
}
