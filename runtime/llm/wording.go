package llm

// The phrases servers use, lower-case. They are data of Classify: a phrase belongs to the list of the reason it proves.
var (
	safetyWords      = []string{"content policy", "content management policy", "safety system", "flagged as potentially violating"}
	billingCodes     = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits", "insufficient_balance", "spend_limit_reached"}
	billingWords     = []string{"insufficient credit", "insufficient balance", "insufficient funds", "exceeded your current quota", "credit balance is too low", "payment required", "billing hard limit", "more credits", "out of credits"}
	resetWords       = []string{"try again in", "resets at", "reset at", "resets in", "please retry after"}
	overloadWords    = []string{"overloaded", "over capacity", "at capacity", "no capacity", "temporarily unavailable", "server is busy", "high demand"}
	memoryWords      = []string{"out of memory", "memory limit", "requires more system memory", "not enough memory"}
	upstreamWords    = []string{"rate-limited upstream", "rate limited upstream", "upstream rate limit"}
	rateWords        = []string{"rate limit", "rate_limit", "too many requests", "throttl", "quota exceeded", "usage limit"}
	usageLimitWords  = []string{"usage limit", "quota exceeded", "daily limit", "weekly limit", "monthly limit"}
	permanentWords   = []string{"organization has been disabled", "account has been deactivated", "account is disabled", "not supported in your country", "region is not supported", "subscription tier does not include", "not eligible for this api"}
	longTierWords    = []string{"extra usage is required for long context", "long context requests require", "long-context tier", "long context tier"}
	longBetaWords    = []string{"long context beta is not", "long context beta is forbidden", "context-1m"}
	imageSizeWords   = []string{"image exceeds", "image too large", "image is too large", "image dimensions exceed", "exceeds the maximum image size"}
	imageDataWords   = []string{"could not process image", "image could not be decoded", "invalid image data", "unable to decode image", "image cannot be identified", "corrupt image"}
	encryptedWords   = []string{"invalid_encrypted_content", "encrypted content could not be", "could not decrypt", "encrypted_content"}
	reasoningFields  = []string{"reasoning_content", "reasoning_details"}
	refusedField     = []string{"not permitted", "not supported", "unsupported", "not allowed", "unknown", "unrecognized", "unexpected", "extra"}
	signatureWords   = []string{"invalid signature in thinking", "invalid `signature` in `thinking`", "thinking block signature", "thinking or redacted_thinking blocks in the latest assistant message cannot be modified", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"}
	mandatoryWords   = []string{"reasoning is mandatory", "thinking is mandatory", "reasoning cannot be disabled", "thinking cannot be disabled", "requires reasoning to be enabled", "does not support disabling"}
	injectedWords    = []string{"unsupported parameter injected", "injected by the gateway"}
	emptyWords       = []string{"empty response", "returned no content", "model output is empty", "no response from the model"}
	firewallWords    = []string{"cloudflare", "access denied</title>", "request blocked", "attention required"}
	policyWords      = []string{"data policy", "privacy settings"}
	entitlementWords = []string{"does not have access to model", "do not have access to the model", "don't have access to model", "not available on your plan", "model access denied"}
	modelWords       = []string{"model not found", "no such model", "unknown model", "is not a valid model", "no endpoints found", "model does not exist"}
	authWords        = []string{"invalid api key", "incorrect api key", "api key not valid", "invalid_api_key"}
	toolJSONWords    = []string{"failed to parse tool call", "invalid tool call arguments", "tool call arguments as json", "unparseable tool call"}
	grammarWords     = []string{"failed to parse grammar", "unable to generate parser", "json schema conversion failed"}
	alternationWords = []string{"roles must alternate", "unexpected role", "must alternate user/assistant"}
	multimodalWords  = []string{"tool result content must be text", "tool message content must be a string", "does not support image content in tool"}
	validationWords  = []string{"invalid value", "unknown parameter", "unsupported parameter", "extra inputs are not permitted", "missing required parameter", "validation error", "invalid type for", "array too long"}
	overflowWords    = []string{"maximum context length", "exceed context limit", "context length", "context window", "context size", "too many tokens", "prompt is too long", "input is too long", "reduce the length"}
)
