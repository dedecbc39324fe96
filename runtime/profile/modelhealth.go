package profile

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
)

// access is what a model call was made with: the configuration and the keys. A failure
// is held against the profile only while it still has the access that failed.
type access struct {
	config *home.Config
	keys   [sha256.Size]byte
}

func accessWith(config *home.Config, keys [maxModels][]string) access {
	h := sha256.New()
	for i, list := range keys {
		for _, k := range list {
			fmt.Fprintf(h, "%d:%d:%s", i, len(k), k)
		}
	}
	a := access{config: config}
	h.Sum(a.keys[:0])
	return a
}

// modelHealth is how the model call of the last turn went; reason "" means well, and message then says why it was not the
// first model that answered.
type modelHealth struct {
	reason, message string
	with            access
}

// modelOutcome says what the end of a turn tells of the model: a reason of condition
// Served, "" for a model that answers. known is false when it tells nothing, as a rate
// limit, an interruption or a refused prompt do not.
func modelOutcome(err error) (reason, message string, known bool) {
	var turn *agent.Error
	if err == nil {
		return "", "", true
	}
	if !errors.As(err, &turn) {
		return "", "", false
	}
	var call *llm.Error
	switch {
	case turn.Kind == agent.KindBudget:
		return "", "", true // it answered, again and again
	case turn.Kind == agent.KindInterrupted || !errors.As(err, &call):
		return "", "", false
	}
	switch call.Reason {
	case llm.ReasonAuth, llm.ReasonBilling, llm.ReasonModelNotFound, llm.ReasonModelEntitlement, llm.ReasonProviderPolicy, llm.ReasonCertificate:
		reason = v1alpha1.ReasonModelRefused
		if call.Code == llm.CodeCredentialMissing {
			reason = v1alpha1.ReasonCredentialMissing
		}
	case llm.ReasonFormat:
		if call.Code != llm.CodeNotAnAPI && call.Code != llm.CodeRedirect {
			return "", "", false // the request was at fault, not the endpoint
		}
		reason = v1alpha1.ReasonModelRefused
	case llm.ReasonTimeout, llm.ReasonServerError, llm.ReasonOverloaded, llm.ReasonUpstreamBlocked:
		reason = v1alpha1.ReasonModelUnreachable
	default:
		return "", "", false
	}
	return reason, "the last turn's model call failed: " + call.Text(), true
}

// noteModel keeps how the turn's model call went and tells when that is news. Of a turn that went well it keeps why a
// fallback answered, if one did.
func (r *Runtime) noteModel(e *engine, err error, with access) {
	reason, message, known := modelOutcome(err)
	if !known {
		return
	}
	if reason == "" {
		message = e.model.Standing()
	}
	now := modelHealth{reason: reason, message: message, with: with}
	r.mu.Lock()
	news := r.modelHealth.reason != now.reason || r.modelHealth.message != now.message || now.message != "" && r.modelHealth.with != with
	r.modelHealth = now
	r.mu.Unlock()
	if news {
		r.o.Changed()
	}
}

// checkModel says what is known to stand between the profile and its model, with the
// configuration and the keys as they are on disk now; without a reason the message, if any,
// says why a fallback answers. r.mu is held.
func (r *Runtime) checkModel(config *home.Config, ring keyRing) (reason, message string) {
	missing := ""
	for i, m := range ring.routes {
		p, ok := llm.LookupProvider(m.provider)
		if !ok || len(ring.keys[i]) > 0 || p.KeyOptional && !r.hadKey[m.server()] {
			missing = "" // this one can answer
			break
		}
		switch i {
		case 0:
			missing = fmt.Sprintf("provider %s needs an API key and the profile has none: "+
				"put it into a Secret and name that in spec.model.credentials", p.Name)
		case 1:
			missing += "; its fallbacks have none either"
		}
	}
	if missing != "" {
		return v1alpha1.ReasonCredentialMissing, missing
	}
	if m := r.modelHealth; ring.routes[0].provider != llm.ProviderDemo && m.message != "" && m.with == accessWith(config, ring.keys) {
		return m.reason, m.message
	}
	return "", ""
}
