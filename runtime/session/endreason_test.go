package session

import "testing"

// TestEndReasons is the table of S-104.
func TestEndReasons(t *testing.T) {
	const reset, boundary, recoverable, automatic, user = 1, 2, 4, 8, 16
	for reason, want := range map[EndReason]int{
		"session_reset": reset | boundary | user, "session_switch": reset | boundary | user, "idle": reset | boundary,
		"daily": reset | boundary, "suspended": reset | boundary, "resume_pending_expired": reset | boundary,
		"new_session": boundary | user, "user_exit": user,
		"agent_close": recoverable | automatic, "ws_orphan_reap": recoverable | automatic,
		"superseded_by_resume": recoverable | automatic, "startup_orphan_reap": recoverable | automatic,
		"tui_shutdown": automatic, "ws_disconnect": automatic, "idle_timeout": automatic, "lru_evict": automatic,
		"compression": 0, "": 0, "something_else": 0,
	} {
		got := 0
		for bit, in := range map[int]bool{
			reset: reason.Reset(), boundary: reason.Boundary(), recoverable: reason.Recoverable(),
			automatic: reason.Automatic(), user: reason.UserBoundary(),
		} {
			if in {
				got |= bit
			}
		}
		if got != want {
			t.Errorf("S-104 %q: %05b, want %05b", reason, got, want)
		}
	}
}
