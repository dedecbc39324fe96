package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// Kind says why a turn ended without a reply.
type Kind string

// The kinds of Error.
const (
	// KindInvalid is a turn that makes no sense; nothing was stored.
	KindInvalid Kind = "invalid_turn"
	// KindBusy is a session that runs a turn already; nothing was stored.
	KindBusy Kind = "session_busy"
	// KindInterrupted is a stop or a cancelled context. What was stored stays, and the session is usable at once.
	KindInterrupted Kind = "interrupted"
	// KindBudget is a turn that used up agent.max_turns (L6).
	KindBudget Kind = "budget_exhausted"
	// KindPersistence is a store that cannot take the rows; nothing was done after the row that failed (S-114).
	KindPersistence Kind = "session_persistence_failed"
	// KindCredentialMissing is a provider without a configured key; no request was sent.
	KindCredentialMissing Kind = "credential_missing"
	// KindCredentialRefused is a key the provider does not accept.
	KindCredentialRefused Kind = "credential_refused"
	// KindBilling is an account that has to be paid for first.
	KindBilling Kind = "billing"
	// KindRateLimited is a limit that outlasted the retries; RetryAt says when it ends, if known.
	KindRateLimited Kind = "rate_limited"
	// KindTooLong is a conversation that does not fit into the model's window and that compaction makes no smaller.
	KindTooLong Kind = "conversation_too_long"
	// KindModel is any other failure of the model call; errors.As finds the *llm.Error.
	KindModel Kind = "model_failed"
)

// DetailCompacting narrows KindModel: the request has to be made smaller, and somebody else is compacting the session.
const DetailCompacting = "compacting"

// ErrStopped is the cause of a turn ended by Loop.Stop.
var ErrStopped = errors.New("stopped")

// Error is a turn that ended without a reply.
type Error struct {
	Kind Kind
	// Detail narrows the kind: the store's bucket, the model error's reason.
	Detail string
	// RetryAt is when trying again makes sense; zero when unknown.
	RetryAt time.Time
	Err     error
}

// Cause is the short stable name of the failure, such as "session_persistence_failed:locked". Implements S-114.
func (e *Error) Cause() string {
	if e.Detail == "" {
		return string(e.Kind)
	}
	return string(e.Kind) + ":" + e.Detail
}

// Error implements error. It says each thing once: a model error's own text begins with the reason that Cause names.
func (e *Error) Error() string {
	var call *llm.Error
	switch {
	case e.Err == nil:
		return e.Cause()
	case e.Kind == KindTooLong, e.Detail == DetailCompacting:
		return e.Cause() + ": " + e.Err.Error() // it says what to do, and ends with the model's own words
	case errors.As(e.Err, &call):
		said := e.inWords()
		if e.Detail != "" && call.Error() != call.Text() { // else the reason's name would mislead
			said += " (" + strings.ReplaceAll(e.Detail, "_", " ") + ")"
		}
		return said + ": " + call.Text()
	case e.Kind == KindModel:
		return e.inWords() + ": " + e.Err.Error()
	}
	return e.Cause() + ": " + e.Err.Error()
}

// inWords is the kind of a failed model call for people; Cause is for programs.
func (e *Error) inWords() string {
	switch e.Kind {
	case KindCredentialMissing:
		return "the model's key is missing"
	case KindCredentialRefused:
		return "the model's key was refused"
	case KindBilling:
		return "the model's account has to be paid for"
	case KindRateLimited:
		return "the model's limit is used up"
	case KindModel:
		return "the model call failed"
	}
	return strings.ReplaceAll(string(e.Kind), "_", " ")
}

// Unwrap gives the underlying error.
func (e *Error) Unwrap() error { return e.Err }

func invalid(text string) *Error { return &Error{Kind: KindInvalid, Err: errors.New(text)} }

func persistence(err error) *Error {
	return &Error{Kind: KindPersistence, Detail: string(store.Classify(err)), Err: err}
}

func interrupted(ctx context.Context) *Error {
	return &Error{Kind: KindInterrupted, Err: context.Cause(ctx)}
}

// modelError gives a failed model call its kind.
func modelError(ctx context.Context, err error, now time.Time) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		return &Error{Kind: KindModel, Err: err}
	}
	out := &Error{Kind: KindModel, Detail: string(e.Reason), Err: err}
	if e.RetryAfter > 0 {
		out.RetryAt = now.Add(e.RetryAfter)
	}
	switch e.Reason {
	case llm.ReasonAuth:
		out.Kind = KindCredentialRefused
		if e.Code == llm.CodeCredentialMissing {
			out.Kind = KindCredentialMissing
		}
	case llm.ReasonBilling:
		out.Kind = KindBilling
	case llm.ReasonRateLimit, llm.ReasonUpstreamRateLimit:
		out.Kind = KindRateLimited
	}
	if out.Kind != KindModel {
		out.Detail = ""
	}
	return out
}
