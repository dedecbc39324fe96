package cron

import "time"

const (
	// fireClaimTTL is how long a fire claim is honoured without a heartbeat.
	fireClaimTTL = 300 * time.Second
	// fireHeartbeat is how often it is refreshed.
	fireHeartbeat = 60 * time.Second
	// pendingTTL is how long an occurrence that was advanced past may wait for its claim.
	pendingTTL = 300 * time.Second
)

// view is what a decision about a job sees of the world: values, and questions that have one answer for one decision.
type view struct {
	now      time.Time
	settings Settings
	owner    Owner
	// running reports whether this process has the job in flight, queued or running.
	running func(id string) bool
	// holds reports whether this process acquired the claim that carries the text.
	holds func(by string) bool
}

// claimLive reports whether a claim holds: its age is in [0, ttl) and its owner is not provably gone. A claim that this
// very process signed and does not hold is left over from an earlier life with the same pid.
//
// Implements C-151, T-141 to T-143.
func (v view) claimLive(c *ClaimStamp, ttl time.Duration) bool {
	if c == nil || c.By == "" || c.At.IsZero() || c.At.Naive {
		return false
	}
	if age := v.now.Sub(c.At.Time); age < 0 || age >= ttl {
		return false
	}
	owner := c.By
	if c.AdoptedBy != "" {
		owner = c.AdoptedBy
	}
	if v.owner.Wrote(owner) {
		return v.holds(owner)
	}
	return !v.owner.provablyDead(owner)
}

// runClaimLive reports whether a one-shot is somebody's already. Our own claim holds while the job is in flight here.
func (v view) runClaimLive(j Job) bool {
	if j.RunClaim != nil && v.owner.Wrote(j.RunClaim.By) {
		return v.running(j.ID)
	}
	return v.claimLive(j.RunClaim, v.settings.runClaimTTL())
}

// pendingHeld reports whether an occurrence that was advanced past still waits with an owner who may claim it.
//
// Implements the conditions of C-155.
func (v view) pendingHeld(j Job) bool {
	p := j.PendingSlot
	age := v.now.Sub(p.At.Time)
	switch {
	case v.owner.Wrote(p.By):
		return v.running(j.ID)
	case age < 0 || age >= pendingTTL:
		return false
	}
	return !v.owner.provablyDead(p.By)
}
