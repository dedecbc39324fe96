package session

// EndReason is why a stored session ended. Reasons that are not listed here are valid store values of no family.
type EndReason string

// The reasons that end sessions, by family. Implements S-104.
const (
	// Somebody, or a rule, began the conversation anew.
	EndSessionReset         EndReason = "session_reset"
	EndSessionSwitch        EndReason = "session_switch"
	EndIdle                 EndReason = "idle"
	EndDaily                EndReason = "daily"
	EndSuspended            EndReason = "suspended"
	EndResumePendingExpired EndReason = "resume_pending_expired"
	EndNewSession           EndReason = "new_session"
	// The program that held the session went away; the conversation did not end.
	EndAgentClose         EndReason = "agent_close"
	EndWSOrphanReap       EndReason = "ws_orphan_reap"
	EndSupersededByResume EndReason = "superseded_by_resume"
	EndStartupOrphanReap  EndReason = "startup_orphan_reap"
	EndTUIShutdown        EndReason = "tui_shutdown"
	EndWSDisconnect       EndReason = "ws_disconnect"
	EndIdleTimeout        EndReason = "idle_timeout"
	EndLRUEvict           EndReason = "lru_evict"
	// EndUserExit is a person who left.
	EndUserExit EndReason = "user_exit"
	// EndCompression is a session that goes on under another id (S-103).
	EndCompression EndReason = "compression"
)

// Reset reports whether the conversation was begun anew.
func (e EndReason) Reset() bool {
	switch e {
	case EndSessionReset, EndSessionSwitch, EndIdle, EndDaily, EndSuspended, EndResumePendingExpired:
		return true
	}
	return false
}

// Boundary reports whether what follows is another conversation.
func (e EndReason) Boundary() bool { return e.Reset() || e == EndNewSession }

// Recoverable reports whether the session may simply go on.
func (e EndReason) Recoverable() bool {
	switch e {
	case EndAgentClose, EndWSOrphanReap, EndSupersededByResume, EndStartupOrphanReap:
		return true
	}
	return false
}

// Automatic reports whether no person ended the session.
func (e EndReason) Automatic() bool {
	switch e {
	case EndTUIShutdown, EndWSDisconnect, EndIdleTimeout, EndLRUEvict:
		return true
	}
	return e.Recoverable()
}

// UserBoundary reports whether a person ended the conversation, so that nothing it started may come back to it.
func (e EndReason) UserBoundary() bool {
	switch e {
	case EndSessionReset, EndUserExit, EndSessionSwitch, EndNewSession:
		return true
	}
	return false
}
