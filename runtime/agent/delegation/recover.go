package delegation

import "time"

const (
	// ReplayCap is how old a completion may be when a gateway starts. Exactly that is replayed (S-211).
	ReplayCap = 48 * time.Hour
	// SweepEvery is how often a served home is looked at for completions that nobody holds, at most (S-213).
	SweepEvery = 30 * time.Second
	// sweepQuiet is how long a row must have been left alone before it counts as nobody's.
	sweepQuiet = 60 * time.Second
	// claimLife is how long a claim holds without being settled (S-214).
	claimLife = 300 * time.Second
)

// Seen is what can be observed of the process that owns a delegation.
type Seen struct {
	// Gone says that no process has the pid.
	Gone bool
	// StartKnown says that the start of both, the recorded and the present process, is known; SameStart that they agree.
	StartKnown, SameStart bool
}

// OwnerDead decides whether the owner of an unfinished delegation is dead. Without a recorded start, or one to compare
// it with, only the existence of the pid counts.
//
// Implements S-210.
func OwnerDead(s Seen) bool { return s.Gone || s.StartKnown && !s.SameStart }

// Orphan is a finished delegation as the sweep sees it.
type Orphan struct {
	// Finished says that its state is final, Pending that nobody was told, Event that there is something to tell.
	Finished, Pending, Event bool
	UpdatedAt, ClaimedAt     time.Time
	Claimed                  bool
	// OwnerDead says that the process that ran it is gone; Held that this one has a copy in memory.
	OwnerDead, Held bool
}

// Offer decides whether the sweep hands a row to a consumer: one that is nobody's, once for each copy in memory.
//
// Implements S-213.
func (o Orphan) Offer(now time.Time) bool {
	return o.Finished && o.Pending && o.Event && o.OwnerDead && !o.Held &&
		now.Sub(o.UpdatedAt) >= sweepQuiet && (!o.Claimed || now.Sub(o.ClaimedAt) > claimLife)
}
