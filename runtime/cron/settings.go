package cron

import "time"

// Settings are a profile's cron settings as they are now. A tick reads them anew, so an edit needs no restart.
type Settings struct {
	// Zone is where wall-clock schedules are read; nil is UTC.
	Zone *time.Location
	// CatchUpMissed runs a recurring job once when its time passed while nothing ticked.
	CatchUpMissed bool
	// CatchUpBurst is how many missed occurrences may start in one tick; below 1 means [DefaultCatchUpBurst].
	CatchUpBurst int
	// MaxParallelJobs bounds the runs at once; below 1 means no bound.
	MaxParallelJobs int
	// OutputRetention is how many outputs of a job are kept; below 1 keeps all.
	OutputRetention int
	// CompletedRetentionDays is how long a finished one-shot is kept; below 1 keeps it for ever.
	CompletedRetentionDays int
	// Inactivity is how long a run may be idle; 0 means that it may be idle for ever.
	Inactivity time.Duration
	// ScriptTimeout bounds a script.
	ScriptTimeout time.Duration
	// InflightFloor is the least age at which a run without a live worker counts as stuck; below 1 means 30 minutes.
	InflightFloor time.Duration
	// FailureNudge is the failure streak from which a recurring job's notices carry a line that asks for a review.
	FailureNudge int
	// FailureRepeat is how long an error that repeats is not told again; below 1 tells each.
	FailureRepeat time.Duration
	// RetryUnreachable runs a recurring job again when its model could not be reached.
	RetryUnreachable bool
}

// DefaultCatchUpBurst is how many missed occurrences start in one tick unless a setting says otherwise.
const DefaultCatchUpBurst = 10

// DefaultSettings returns the settings of a profile that sets nothing.
func DefaultSettings() Settings {
	return Settings{
		Zone:                   time.UTC,
		CatchUpMissed:          true,
		CatchUpBurst:           DefaultCatchUpBurst,
		OutputRetention:        50,
		CompletedRetentionDays: 7,
		Inactivity:             600 * time.Second,
		ScriptTimeout:          3600 * time.Second,
		InflightFloor:          30 * time.Minute,
		FailureNudge:           3,
		FailureRepeat:          6 * time.Hour,
		RetryUnreachable:       true,
	}
}

// runClaimTTL is how long a one-shot's run claim is honoured without a sign of life: three times the inactivity bound,
// at least 1800 s.
//
// Implements C-150, T-144.
func (s Settings) runClaimTTL() time.Duration {
	return max(3*s.Inactivity, 1800*time.Second)
}
