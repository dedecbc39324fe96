package llm

// Reason says why a model call failed. The names are part of the contract with hooks, rows and conditions.
// Implements the table of L.4.
type Reason string

// The reasons.
const (
	// ReasonAuth is a refused or missing key (401), or a plain 403.
	ReasonAuth Reason = "auth"
	// ReasonAuthPermanent is an account or tier that is refused for good, whatever the key.
	ReasonAuthPermanent Reason = "auth_permanent"
	// ReasonBilling is an account without credit or beyond its spending cap.
	ReasonBilling Reason = "billing"
	// ReasonRateLimit is the account's own rate or usage limit.
	ReasonRateLimit Reason = "rate_limit"
	// ReasonUpstreamRateLimit is an aggregator's upstream that limits everybody, whatever the key.
	ReasonUpstreamRateLimit Reason = "upstream_rate_limit"
	// ReasonUpstreamBlocked is a firewall or CDN page instead of an API answer.
	ReasonUpstreamBlocked Reason = "upstream_blocked"
	// ReasonOverloaded is a server without capacity.
	ReasonOverloaded Reason = "overloaded"
	// ReasonServerError is a server that broke, or an answer that is not one.
	ReasonServerError Reason = "server_error"
	// ReasonTimeout is a connection or answer that did not come or did not finish.
	ReasonTimeout Reason = "timeout"
	// ReasonCertificate is a TLS chain or host name that does not verify.
	ReasonCertificate Reason = "ssl_cert_verification"
	// ReasonContextOverflow is a conversation longer than the model's window.
	ReasonContextOverflow Reason = "context_overflow"
	// ReasonPayloadTooLarge is a request body over the server's limit (413).
	ReasonPayloadTooLarge Reason = "payload_too_large"
	// ReasonLongContextTier is a conversation in a price tier that the account has not got.
	ReasonLongContextTier Reason = "long_context_tier"
	// ReasonLongContextBeta is a login that may not use the beta of the long context window.
	ReasonLongContextBeta Reason = "oauth_long_context_beta_forbidden"
	// ReasonImageTooLarge is an image over the server's limit for one.
	ReasonImageTooLarge Reason = "image_too_large"
	// ReasonImageCorrupt is an image that the server cannot decode.
	ReasonImageCorrupt Reason = "image_corrupt"
	// ReasonModelNotFound is a model or path the server does not have.
	ReasonModelNotFound Reason = "model_not_found"
	// ReasonModelEntitlement is a model this account may not use.
	ReasonModelEntitlement Reason = "model_entitlement"
	// ReasonProviderPolicy is a route blocked by the account's data policy.
	ReasonProviderPolicy Reason = "provider_policy_blocked"
	// ReasonContentPolicy is a safety filter that refused the request or the answer.
	ReasonContentPolicy Reason = "content_policy_blocked"
	// ReasonIncomplete is an answer with reasoning only, neither text nor a tool call, or one without end.
	ReasonIncomplete Reason = "incomplete_response"
	// ReasonFormat is a request the server refuses as invalid, or an endpoint that is not a chat completions API.
	ReasonFormat Reason = "format_error"
	// ReasonRoleAlternation is a chat template that refused adjacent roles.
	ReasonRoleAlternation Reason = "role_alternation"
	// ReasonEncryptedContent is encrypted reasoning that the server does not take back.
	ReasonEncryptedContent Reason = "invalid_encrypted_content"
	// ReasonThinkingSignature is a thinking block whose signature the server does not take back.
	ReasonThinkingSignature Reason = "thinking_signature"
	// ReasonReasoningMandatory is a model that refuses to answer without thinking.
	ReasonReasoningMandatory Reason = "reasoning_mandatory"
	// ReasonMultimodalTool is a server that refuses list-shaped tool results.
	ReasonMultimodalTool Reason = "multimodal_tool_content_unsupported"
	// ReasonGrammarPattern is a llama.cpp server that cannot compile pattern or format in a tool schema.
	ReasonGrammarPattern Reason = "llama_cpp_grammar_pattern"
	// ReasonUnknown is anything else.
	ReasonUnknown Reason = "unknown"
)

// Verdict is what a caller may do about a failure: try the same route again, shrink the conversation first, take
// another key, go to another provider.
type Verdict struct {
	Reason                                Reason
	Retryable, Compress, Rotate, Fallback bool
}

// verdict gives the L.4 row of a reason. The rows that share a name with another (a plain 403, tool-call JSON the model
// itself got wrong) are made by Classify, which knows the status and the wording, and by breakerVerdict.
func verdict(r Reason) Verdict {
	v := Verdict{Reason: r}
	switch r {
	case ReasonAuth, ReasonBilling, ReasonModelEntitlement:
		v.Rotate, v.Fallback = true, true
	case ReasonRateLimit:
		v.Retryable, v.Rotate, v.Fallback = true, true, true
	case ReasonUpstreamRateLimit:
		v.Retryable, v.Fallback = true, true
	case ReasonContextOverflow, ReasonPayloadTooLarge, ReasonLongContextTier:
		v.Retryable, v.Compress = true, true
	case ReasonAuthPermanent, ReasonUpstreamBlocked, ReasonCertificate, ReasonModelNotFound, ReasonProviderPolicy, ReasonContentPolicy,
		ReasonIncomplete, ReasonFormat, ReasonRoleAlternation:
		v.Fallback = true
	default:
		v.Retryable = true
	}
	return v
}

// breakerVerdict is the row "timeout (breaker)": a route that keeps its callers waiting in vain is left at once.
func breakerVerdict() Verdict { return Verdict{Reason: ReasonTimeout, Fallback: true} }

// AfterBackoff reports whether the reason reaches a fallback provider only once the back-off budget is spent.
// Implements L17.
func (r Reason) AfterBackoff() bool {
	switch r {
	case ReasonRateLimit, ReasonUpstreamRateLimit, ReasonOverloaded, ReasonContextOverflow, ReasonPayloadTooLarge,
		ReasonLongContextTier, ReasonThinkingSignature:
		return true
	}
	return false
}

// oneShot reports whether the reason has a cure that is made once: when the failure is still there after it, or there
// was nothing to cure, it is the client's error (L16).
func (r Reason) oneShot() bool {
	switch r {
	case ReasonImageTooLarge, ReasonImageCorrupt, ReasonMultimodalTool, ReasonGrammarPattern, ReasonEncryptedContent,
		ReasonThinkingSignature, ReasonReasoningMandatory, ReasonLongContextBeta:
		return true
	}
	return false
}

// RepeatHelps reports whether sending the very same request again can succeed. Overflow and size are retryable only
// after the caller has made the request smaller, so the client itself does not repeat them.
func (v Verdict) RepeatHelps() bool { return v.Retryable && !v.Compress && !v.Reason.oneShot() }
