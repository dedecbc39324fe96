package llm

import (
	"net/http"
	"strings"
)

// Failure is everything classification looks at.
type Failure struct {
	Status int
	// Code and Type are error.code and error.type of the answer; Message its text, or the body when it has none.
	Code, Type, Message string
	// HTML is true when the body is a web page.
	HTML bool
	// ResetKnown is true when the answer says when the limit ends (a Retry-After header).
	ResetKnown bool
	// Transport is the network error when there was no answer.
	Transport error
	// Large is true when the request fills most of the model's window, as far as that is known: a bare refusal or a
	// disconnect then means that it is too long.
	Large bool
	// Thinks is true for a model that thinks before it answers: a disconnect is then a wait that was too long.
	Thinks bool
}

// Classify decides the reason of a failure. It is pure; the order of its stages is the rule, because one answer often
// fits several rows. Implements L22 and L26 for both dialects.
func Classify(f Failure) Verdict {
	msg := strings.ToLower(f.Message)
	code := strings.ToLower(f.Code)
	if code == "" {
		code = strings.ToLower(f.Type)
	}
	// A safety refusal says so whatever the status is (L26).
	if oneOf(code, "content_filter", "content_policy_violation", "responsibleaipolicyviolation") || hasAny(msg, safetyWords) {
		return verdict(ReasonContentPolicy)
	}
	if f.Transport != nil && f.Status == 0 {
		if f.Large && !f.Thinks && isDisconnect(f.Transport) {
			return verdict(ReasonContextOverflow)
		}
		return classifyTransport(f.Transport)
	}
	if v, ok := classifyShape(f.Status, code, msg); ok {
		return v
	}
	if v, ok := classifyStatus(f, code, msg); ok {
		return v
	}
	if v, ok := classifyCode(code); ok {
		return v
	}
	if v, ok := classifyWords(msg); ok {
		return v
	}
	return verdict(ReasonUnknown)
}

// classifyShape is the stage of shapes that mean one thing whatever the status: refusals of what goes back to the
// server, of images, and of tiers.
func classifyShape(status int, code, msg string) (Verdict, bool) {
	if status >= 500 {
		return Verdict{}, false
	}
	for _, w := range []struct {
		words  []string
		reason Reason
	}{
		{longTierWords, ReasonLongContextTier},
		{encryptedWords, ReasonEncryptedContent},
		{signatureWords, ReasonThinkingSignature},
		{mandatoryWords, ReasonReasoningMandatory},
		{imageSizeWords, ReasonImageTooLarge},
		{imageDataWords, ReasonImageCorrupt},
		{permanentWords, ReasonAuthPermanent},
	} {
		if hasAny(msg, w.words) {
			return verdict(w.reason), true
		}
	}
	if code == "invalid_encrypted_content" || status < 500 && refusesFields(msg) {
		return verdict(ReasonEncryptedContent), true
	}
	if (status == http.StatusBadRequest || status == http.StatusForbidden) && hasAny(msg, longBetaWords) {
		return verdict(ReasonLongContextBeta), true
	}
	return Verdict{}, false
}

// classifyStatus is the HTTP status stage of L22; statuses it does not know fall through to codes and wording.
func classifyStatus(f Failure, code, msg string) (Verdict, bool) {
	switch s := f.Status; {
	case s == http.StatusUnauthorized:
		return verdict(ReasonAuth), true
	case s == http.StatusPaymentRequired:
		if f.ResetKnown || hasAny(msg, resetWords) {
			return verdict(ReasonRateLimit), true
		}
		return verdict(ReasonBilling), true
	case s == http.StatusForbidden:
		return classifyForbidden(f, code, msg), true
	case s == http.StatusNotFound:
		return classifyNotFound(code, msg), true
	case s == http.StatusRequestTimeout:
		return verdict(ReasonTimeout), true
	case s == http.StatusRequestEntityTooLarge:
		return verdict(ReasonPayloadTooLarge), true
	case s == http.StatusTooManyRequests:
		return classifyTooMany(code, msg), true
	case s == http.StatusBadRequest || s == http.StatusUnprocessableEntity:
		return classifyBadRequest(f, code, msg), true
	case s == http.StatusServiceUnavailable || s == 529:
		return verdict(ReasonOverloaded), true
	case s >= 500:
		if hasAny(msg, overloadWords) || hasAny(msg, memoryWords) {
			return verdict(ReasonOverloaded), true
		}
		if s == http.StatusGatewayTimeout || s == 524 {
			return verdict(ReasonTimeout), true
		}
		return verdict(ReasonServerError), true
	case s >= 300 && s < 400:
		return verdict(ReasonFormat), true
	case s >= 400:
		if v, ok := classifyCode(code); ok {
			return v, true
		}
		if v, ok := classifyWords(msg); ok {
			return v, true
		}
		return verdict(ReasonFormat), true
	}
	return Verdict{}, false
}

func classifyForbidden(f Failure, code, msg string) Verdict {
	switch {
	case f.HTML || hasAny(msg, firewallWords):
		return verdict(ReasonUpstreamBlocked)
	case isBilling(code, msg):
		return verdict(ReasonBilling)
	case hasAny(msg, policyWords):
		return verdict(ReasonProviderPolicy)
	case hasAny(msg, entitlementWords):
		return verdict(ReasonModelEntitlement)
	}
	v := verdict(ReasonAuth)
	v.Rotate = false // the row "auth (403)": another key of the same account is refused as well
	return v
}

func classifyNotFound(code, msg string) Verdict {
	switch {
	case isBilling(code, msg):
		return verdict(ReasonBilling)
	case hasAny(msg, policyWords):
		return verdict(ReasonProviderPolicy)
	case hasAny(msg, entitlementWords):
		return verdict(ReasonModelEntitlement)
	}
	return verdict(ReasonModelNotFound)
}

func classifyTooMany(code, msg string) Verdict {
	switch {
	case hasAny(msg, memoryWords), hasAny(msg, overloadWords):
		return verdict(ReasonOverloaded)
	case isBilling(code, msg):
		return verdict(ReasonBilling)
	case hasAny(msg, upstreamWords):
		return verdict(ReasonUpstreamRateLimit)
	}
	return verdict(ReasonRateLimit)
}

func classifyBadRequest(f Failure, code, msg string) Verdict {
	switch {
	case hasAny(msg, injectedWords), hasAny(msg, emptyWords):
		return verdict(ReasonServerError) // the route's own doing
	case isBilling(code, msg):
		return verdict(ReasonBilling)
	case hasAny(msg, toolJSONWords):
		v := verdict(ReasonFormat)
		v.Fallback = false // the model's own words would be refused by the next provider as well (L21)
		return v
	case hasAny(msg, grammarWords):
		return verdict(ReasonGrammarPattern)
	case hasAny(msg, alternationWords):
		return verdict(ReasonRoleAlternation)
	case hasAny(msg, multimodalWords):
		return verdict(ReasonMultimodalTool)
	case oneOf(code, "model_not_found") || hasAny(msg, modelWords):
		return verdict(ReasonModelNotFound)
	case oneOf(code, "invalid_api_key") || hasAny(msg, authWords):
		return verdict(ReasonAuth)
	case hasAny(msg, validationWords):
		return verdict(ReasonFormat) // before overflow (L26)
	case oneOf(code, "context_length_exceeded", "exceed_context_size_error", "string_above_max_length") || hasAny(msg, overflowWords):
		return verdict(ReasonContextOverflow)
	case hasAny(msg, overloadWords):
		return verdict(ReasonOverloaded)
	case hasAny(msg, rateWords):
		return verdict(ReasonRateLimit)
	case f.Large && bare(msg):
		return verdict(ReasonContextOverflow)
	}
	return verdict(ReasonFormat)
}

// bare reports whether the text of a 400 says no more than its status.
func bare(msg string) bool {
	switch strings.Trim(msg, " .!\"") {
	case "", "error", "bad request", "invalid request", "invalid_request_error", "400 bad request":
		return true
	}
	return false
}

// classifyCode is the structured-code stage, used when the status says nothing: errors inside a 200 stream.
func classifyCode(code string) (Verdict, bool) {
	switch {
	case oneOf(code, billingCodes...):
		return verdict(ReasonBilling), true
	case oneOf(code, "invalid_api_key", "authentication_error", "unauthorized", "401"):
		return verdict(ReasonAuth), true
	case oneOf(code, "permission_error"):
		v := verdict(ReasonAuth)
		v.Rotate = false
		return v, true
	case oneOf(code, "billing_error"):
		return verdict(ReasonBilling), true
	case oneOf(code, "request_too_large"):
		return verdict(ReasonPayloadTooLarge), true
	case oneOf(code, "timeout_error"):
		return verdict(ReasonTimeout), true
	case oneOf(code, "rate_limit_exceeded", "rate_limit_error", "rate_limit", "429"):
		return verdict(ReasonRateLimit), true
	case oneOf(code, "overloaded_error", "overloaded", "engine_overloaded", "503", "529"):
		return verdict(ReasonOverloaded), true
	case oneOf(code, "context_length_exceeded", "exceed_context_size_error"):
		return verdict(ReasonContextOverflow), true
	case oneOf(code, "model_not_found", "not_found_error", "404"):
		return verdict(ReasonModelNotFound), true
	case oneOf(code, "server_error", "internal_error", "internal_server_error", "api_error", "500", "502"):
		return verdict(ReasonServerError), true
	}
	return Verdict{}, false
}

// classifyWords is the wording stage; the order is that of L26.
func classifyWords(msg string) (Verdict, bool) {
	for _, w := range []struct {
		words  []string
		reason Reason
	}{
		{memoryWords, ReasonOverloaded},
		{emptyWords, ReasonServerError},
		{billingWords, ReasonBilling},
		{overloadWords, ReasonOverloaded},
		{upstreamWords, ReasonUpstreamRateLimit},
		{rateWords, ReasonRateLimit},
		{authWords, ReasonAuth},
		{modelWords, ReasonModelNotFound},
		{validationWords, ReasonFormat},
		{overflowWords, ReasonContextOverflow},
	} {
		if hasAny(msg, w.words) {
			return verdict(w.reason), true
		}
	}
	return Verdict{}, false
}

func isBilling(code, msg string) bool {
	return oneOf(code, billingCodes...) || hasAny(msg, billingWords)
}

func oneOf(s string, set ...string) bool {
	for _, v := range set {
		if s == v {
			return true
		}
	}
	return false
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
