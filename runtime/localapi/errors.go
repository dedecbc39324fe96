package localapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// codeStopping is the Code of an Error that refuses a turn because the gateway stops; the turn was not begun.
const codeStopping = "stopping"

func badRequest(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

func notFound(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Type: "invalid_request_error", Code: code, Message: fmt.Sprintf(format, args...)}
}

// toError maps the failure of a turn to what the client sees. A store that is busy is
// 503, never 500 (S-113).
func toError(err error, now time.Time) *Error {
	var e *Error
	var turn *agent.Error
	var crash *profile.CrashError
	var config *profile.ConfigError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &turn):
		return fromTurn(turn, now)
	case errors.As(err, &crash):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "crashed", Message: err.Error(), RetryAfter: secondsUntil(crash.Until, now)}
	case errors.As(err, &config):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "config_invalid", Message: err.Error(), final: true}
	case errors.Is(err, profile.ErrDraining), errors.Is(err, profile.ErrClosed), errors.Is(err, store.ErrClosed):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: codeStopping, Message: err.Error(), RetryAfter: 1}
	case store.Classify(err) == store.BucketLocked, errors.Is(err, store.ErrStoreBusy):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "store_busy", Message: err.Error(), RetryAfter: 1}
	case errors.Is(err, store.ErrReplaced), errors.Is(err, store.ErrLocksLost):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "store_detached", Message: err.Error(), final: true}
	case errors.Is(err, store.ErrCorrupt):
		return &Error{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "store_corrupt", Message: err.Error(), final: true}
	default:
		return &Error{Status: http.StatusInternalServerError, Type: "server_error", Code: "failed", Message: err.Error(), final: true}
	}
}

// turnStatus is the HTTP status of each way a turn can end without a reply.
var turnStatus = map[agent.Kind]int{
	agent.KindInvalid:           http.StatusBadRequest,
	agent.KindBusy:              http.StatusConflict,
	agent.KindInterrupted:       499, // the client closed the request
	agent.KindBudget:            http.StatusUnprocessableEntity,
	agent.KindPersistence:       http.StatusServiceUnavailable,
	agent.KindCredentialMissing: http.StatusFailedDependency,
	agent.KindCredentialRefused: http.StatusBadGateway,
	agent.KindBilling:           http.StatusBadGateway,
	agent.KindRateLimited:       http.StatusTooManyRequests,
	agent.KindTooLong:           http.StatusRequestEntityTooLarge,
	agent.KindModel:             http.StatusBadGateway,
}

func fromTurn(e *agent.Error, now time.Time) *Error {
	status, ok := turnStatus[e.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	kind := "server_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status < 500:
		kind = "invalid_request_error"
	}
	return &Error{
		Status: status, Type: kind, Code: e.Cause(), Message: e.Error(), RetryAfter: secondsUntil(e.RetryAt, now),
		final: e.Kind != agent.KindBusy,
	}
}

func secondsUntil(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(1, int64(t.Sub(now).Seconds()+0.999))
}
