package host

// Standing is what a record is worth once its process has been looked at.
type Standing int

const (
	// Stale means there is provably no owner.
	Stale Standing = iota
	// Candidate means an owner can be neither proved nor ruled out: never treated as dead, and never as alive without
	// a probe.
	Candidate
	// Owner means that exactly the recorded process is running.
	Owner
)

// String returns the word used in logs.
func (s Standing) String() string {
	switch s {
	case Owner:
		return "owner"
	case Candidate:
		return "candidate"
	default:
		return "stale"
	}
}

// MayDial reports whether a record of this standing may be probed for the role. A gateway is dialled only on positive
// proof of pid and creation time; an HTTP role may be probed as a candidate, because its answer is authenticated.
// Implements G-224.
func (s Standing) MayDial(role Role) bool {
	return s == Owner || (s == Candidate && role != RoleGateway)
}

// JudgeRecord proves a record stale, or its process the owner, or says it cannot tell. record is nil when there is none.
// The reason is for logs.
// Implements G-224.
func JudgeRecord(record *Record, seen Observation) (standing Standing, reason string) {
	switch {
	case record == nil:
		return Stale, "no record"
	case record.ProtocolVersion != RecordProtocolVersion:
		return Stale, "unknown protocol version"
	case seen.State == Dead:
		return Stale, "process is gone"
	case seen.State == Unknown:
		return Candidate, "process could not be observed"
	}
	if record.StartTime > 0 && seen.StartTime > 0 && record.BootID != "" && seen.BootID != "" {
		// Exact, and immune to a stepped wall clock.
		switch {
		case record.BootID != seen.BootID:
			return Stale, "written before the last boot"
		case !SameStart(record.StartTime, seen.StartTime):
			return Stale, "pid belongs to another process"
		}
		return Owner, "pid and start time match"
	}
	if record.CreateTime == nil || *record.CreateTime <= 0 || seen.CreateTime <= 0 {
		return Candidate, "creation time unknown"
	}
	if !SameCreateTime(*record.CreateTime, seen.CreateTime) {
		return Stale, "pid belongs to another process"
	}
	return Owner, "pid and creation time match"
}
