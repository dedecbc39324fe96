package localapi

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/store"
)

// TestStoreErrors: S-113, S-131. What is wrong with a store is 503 with a code of its own, and the first steps are in
// the message.
func TestStoreErrors(t *testing.T) {
	for _, c := range []struct {
		id    string
		err   error
		code  string
		again bool
	}{
		{"S-113 contended", fmt.Errorf("%w for 20s", store.ErrContended), "store_busy", true},
		{"S-113 another process", &store.BusyError{Path: "/h/state.db", PID: 7}, "store_busy", true},
		{"S-131", &store.RetiredError{Path: "/h/state.db"}, "store_detached", false},
		{"S-134", store.ErrReplaced, "store_detached", false},
		{"S-133", store.ErrLocksLost, "store_detached", false},
		{"S-135", store.ErrCorrupt, "store_corrupt", false},
	} {
		got := toError(fmt.Errorf("sessions: %w", c.err), time.Now())
		if got.Status != 503 || got.Code != c.code || (got.RetryAfter > 0) != c.again || got.final == c.again {
			t.Errorf("%s: %+v", c.id, got)
		}
		if !errors.Is(c.err, store.ErrDeletedWAL) {
			continue
		}
		if want := "sessions: " + c.err.Error(); got.Message != want {
			t.Errorf("%s: message %q, want %q", c.id, got.Message, want)
		}
	}
}
