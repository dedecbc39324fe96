package cron

import "time"

const (
	minGrace = 120 * time.Second
	maxGrace = 7200 * time.Second

	// onTimeTolerance is how late a run may begin and still be on time.
	onTimeTolerance = 300 * time.Second

	// onceGrace is how late a one-shot may begin at all (C-133), and how far in the past it may be created (C-108).
	onceGrace = 120 * time.Second
)

// Period returns the time between two occurrences of a recurring schedule, as seen from now; false when there is none.
func (s Schedule) Period(now time.Time, profile *time.Location) (time.Duration, bool) {
	switch s.Kind {
	case Interval:
		return time.Duration(s.Minutes) * time.Minute, s.Minutes > 0
	case Cron:
		first, ok := s.Next(now, time.Time{}, profile)
		if !ok {
			return 0, false
		}
		second, ok := s.Next(first, first, profile)
		return second.Sub(first), ok
	}
	return 0, false
}

// Grace returns how late an occurrence of a recurring schedule may begin before it counts as missed: half its period,
// at least 120 s and at most 7200 s.
//
// Implements C-130.
func (s Schedule) Grace(now time.Time, profile *time.Location) time.Duration {
	period, ok := s.Period(now, profile)
	if !ok {
		return minGrace
	}
	return min(max(period/2, minGrace), maxGrace)
}

// Lateness is how a run that was dispatched compares with its time.
type Lateness string

const (
	// OnTime began within 300 s.
	OnTime Lateness = "on_time"
	// Late began within the grace of its schedule.
	Late Lateness = "late"
	// CatchUp stands for one or more occurrences that were missed.
	CatchUp Lateness = "catch_up"
	// Skipped was not run at all.
	Skipped Lateness = "skipped"
	// Manual was asked for by a person and has no time to be late for.
	Manual Lateness = "manual"
)

// ClassifyLateness says which class a recurring occurrence is in that begins late after its time.
//
// Implements C-131.
func ClassifyLateness(late, grace time.Duration) Lateness {
	switch {
	case late > grace:
		return CatchUp
	case late > onTimeTolerance:
		return Late
	}
	return OnTime
}
