package llm

// Step is what follows a failure that a route's own retries, keys and rewrites did not cure.
type Step string

// The steps.
const (
	// StepTerminal gives the failure to the caller.
	StepTerminal Step = "terminal"
	// StepCompress gives it to the caller as well, who makes the conversation smaller and asks again.
	StepCompress Step = "compress"
	// StepFallback goes to the next route.
	StepFallback Step = "fallback"
)

// Settle decides what follows a failure of a route whose back-off budget is spent. A client's error goes to another
// route only where its row allows that; what could have been cured by trying again, and was not, goes there always. It
// is pure. Implements the settle order of L16, L17 and L21.
func Settle(e *Error) Step {
	if e.Compress {
		return StepCompress // a context error is never settled as the client's
	}
	after := e.Reason.AfterBackoff()
	spent := e.Reason.oneShot() && !after
	clientError := e.Local || spent || !e.Retryable && !after
	if clientError && !e.Fallback {
		return StepTerminal
	}
	return StepFallback
}
