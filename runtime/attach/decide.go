package attach

import (
	"slices"

	"hermes.dev/hermes/runtime/host"
)

// Outcome is what a gateway that is about to start has to do. Need means: look further, and decide again.
type Outcome string

// The outcomes of G-255 and the two looks that a decision may ask for.
const (
	// Start: nobody serves the profile, or it cannot be proved that somebody does.
	Start Outcome = "Start"
	// Attach: another process serves the profile; nothing is started.
	Attach Outcome = "Attach"
	// Replace: end the owner, then start.
	Replace Outcome = "Replace"
	// Refuse: an owner stands in the way and does not serve the profile, or nobody can tell.
	Refuse Outcome = "Refuse"
	// NeedWait asks for the bounded wait for an owner that has not answered yet (G-253).
	NeedWait Outcome = "NeedWait"
	// NeedRescan asks the owner to reconcile its served set now (G-246).
	NeedRescan Outcome = "NeedRescan"
)

// Owner is the process that a record names and the kernel confirms.
type Owner struct {
	PID int
	// Home is the HERMES_HOME the owner was launched with; requests go to the socket in it. Implements G-257.
	Home string
	// Profile it was launched as.
	Profile string
	// StartTime is the owner's kernel start fingerprint, 0 when the record has none.
	StartTime int64
	// Declared is true for the gateway of a Gateway object: its operator would start it again, so it is never replaced.
	Declared bool
}

// ServedSet is whom a live owner says to serve.
type ServedSet struct {
	// Known is true only after an identify that matches the record (G-250, G-251).
	Known    bool
	Profiles []string
}

// Has reports whether the set is known to hold the profile.
func (s ServedSet) Has(profile string) bool { return s.Known && slices.Contains(s.Profiles, profile) }

// Member is one live gateway of the fleet, as an opted-out profile has to see it (G-256).
type Member struct {
	Owner
	Served ServedSet
}

// Facts are everything the decision is made of.
type Facts struct {
	// Profile that is about to be served.
	Profile string
	// SelfPID is this process.
	SelfPID int
	// Replace is --replace, Force is --force.
	Replace, Force bool
	// OptedOut is true for a named profile that keeps a gateway of its own (gateway.standalone).
	OptedOut bool
	// ProbeFailed is true when looking raised an error that is no answer.
	ProbeFailed bool
	// Owner is nil when there is provably none, or its liveness cannot be proved (G-224).
	Owner *Owner
	// Served is the owner's set.
	Served ServedSet
	// Waited is true after the bounded wait.
	Waited bool
	// Rescan is the owner's answer to rescan-profiles, nil when it gave none; Rescanned says that it was asked.
	Rescan    *host.Rescan
	Rescanned bool
	// Fleet lists every live profile gateway, owner first; only looked up for an opted-out profile.
	Fleet []Member
}

// Decision is an outcome and why.
type Decision struct {
	// Rule is the row of the truth table, such as "D6".
	Rule    string
	Outcome Outcome
	// Transient is true when trying again later may end differently.
	Transient bool
	// Owner that the outcome is about, nil for none.
	Owner  *Owner
	Served ServedSet
	// Converge is true when the owner is one of a fleet of per-profile gateways that could be folded into one (D10).
	Converge bool
}

// Decide evaluates the truth table top-down. It never fails: what could not be seen is a fact like any other.
// Implements G-254, G-255 and G-256, and settles Q-1: only a completed rescan that leaves the profile out is permanent.
func Decide(f Facts) Decision {
	switch {
	case f.Force:
		return f.decision("D14", Start, false)
	case f.ProbeFailed:
		return f.decision("D1", Start, false)
	case f.Owner != nil && f.Owner.PID == f.SelfPID:
		return f.decision("D3", Start, false)
	case f.Owner != nil && f.Replace && (f.Served.Has(f.Profile) || !f.Served.Known) && !f.OptedOut && !f.Owner.Declared:
		return f.decision("D4", Replace, false)
	case f.OptedOut:
		return decideOptedOut(f)
	case f.Owner == nil && f.Waited:
		return f.decision("D7", Start, false)
	case f.Owner == nil:
		return f.decision("D2", Start, false)
	case f.Served.Has(f.Profile) && f.Waited:
		return f.decision("D8", Attach, true)
	case f.Served.Has(f.Profile):
		return f.decision("D6", Attach, true)
	case !f.Served.Known && !f.Waited:
		return f.decision("D7", NeedWait, false)
	case !f.Rescanned:
		return f.decision("D9", NeedRescan, false)
	}
	return decideRescan(f)
}

// decideRescan is the part of the table below the owner's answer to rescan-profiles, or its silence.
func decideRescan(f Facts) Decision {
	r := f.Rescan
	switch {
	case r != nil && slices.Contains(r.ServedProfiles, f.Profile):
		d := f.decision("D9", Attach, true)
		d.Served = ServedSet{Known: true, Profiles: r.ServedProfiles}
		return d
	case r != nil && r.Multiplex != nil && !*r.Multiplex:
		d := f.decision("D10", Start, false)
		d.Converge = true
		return d
	case !f.Served.Known:
		return f.decision("D11", Refuse, true)
	case r != nil && r.Rescanned && !r.Pending:
		d := f.decision("D12", Refuse, false)
		d.Served = ServedSet{Known: true, Profiles: r.ServedProfiles}
		return d
	default:
		return f.decision("D13", Refuse, true)
	}
}

// decideOptedOut lets a profile that keeps its own gateway start beside the host's, once every live gateway is known
// not to serve it. Implements G-256.
func decideOptedOut(f Facts) Decision {
	if f.Owner != nil && !f.Served.Known && !f.Waited {
		return f.decision("G-256", NeedWait, false)
	}
	for _, m := range f.Fleet {
		if m.PID != f.SelfPID && (!m.Served.Known || m.Served.Has(f.Profile)) {
			return Decision{Rule: "G-256", Outcome: Refuse, Transient: true, Owner: &m.Owner, Served: m.Served}
		}
	}
	return f.decision("G-256", Start, false)
}

func (f Facts) decision(rule string, o Outcome, transient bool) Decision {
	return Decision{Rule: rule, Outcome: o, Transient: transient, Owner: f.Owner, Served: f.Served}
}
