package llm

// The phrases servers use, lower-case. They are data of Classify: a phrase belongs to the list of the reason it proves.
var (
	safetyWords      = []string{"content policy", "content management policy", "safety system", "flagged as potentially violating"}
	billingCodes     = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits", "insufficient_balance", "spend_limit_reached"}
	billingWords     = []string{"insufficient credit", "insufficient balance", "insufficient funds", "exceeded your current quota", "credit balance is too low", "payment required", "billing hard limit", "more credits", "out of credits"}
	resetWords       = []string{"try again in", "resets at", "reset at", "resets in", "please retry after"}
	overloadWords    = []string{"overloaded", "over capacity", "at capacity", "no capacity", "temporarily unavailable", "server is busy"}
	memoryWords      = []string{"out of memory", "memory limit", "requires more system memory", "not enough memory"}
	upstreamWords    = []string{"rate-limited upstream", "rate limited upstream", "upstream rate limit"}
	rateWords        = []string{"rate limit", "rate_limit", "too many requests", "throttl", "quota exceeded", "usage limit"}
	usageLimitWords  = []string{"usage limit", "quota exceeded", "daily limit", "weekly limit", "monthly limit"}
	firewallWords    = []string{"cloudflare", "access denied</title>", "request blocked", "attention required"}
	policyWords      = []string{"data policy", "privacy settings"}
	entitlementWords = []string{"does not have access to model", "do not have access to the model", "don't have access to model", "not available on your plan", "model access denied"}
	modelWords       = []string{"model not found", "no such model", "unknown model", "is not a valid model", "no endpoints found", "model does not exist"}
	authWords        = []string{"invalid api key", "incorrect api key", "api key not valid", "invalid_api_key"}
	toolJSONWords    = []string{"failed to parse tool call", "invalid tool call arguments", "tool call arguments as json", "unparseable tool call"}
	grammarWords     = []string{"failed to parse grammar", "unable to generate parser", "json schema conversion failed"}
	alternationWords = []string{"roles must alternate", "unexpected role", "must alternate user/assistant"}
	multimodalWords  = []string{"tool message content must be a string", "does not support image content in tool"}
	validationWords  = []string{"invalid value", "unknown parameter", "unsupported parameter", "extra inputs are not permitted", "missing required parameter", "validation error", "invalid type for", "array too long"}
	overflowWords    = []string{"maximum context length", "context length", "context window", "context size", "too many tokens", "prompt is too long", "input is too long", "reduce the length"}
)
