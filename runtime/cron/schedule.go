package cron

import (
	"fmt"
	"time"
)

// Kind says how a schedule recurs.
type Kind string

const (
	// Once is a single instant.
	Once Kind = "once"
	// Interval recurs after a number of minutes of elapsed time.
	Interval Kind = "interval"
	// Cron recurs at wall-clock times.
	Cron Kind = "cron"
)

// Schedule says when a job runs (C-107).
type Schedule struct {
	Kind Kind `json:"kind"`
	// RunAt is the instant of a one-shot.
	RunAt Instant `json:"run_at,omitzero"`
	// Minutes is the length of an interval.
	Minutes int `json:"minutes,omitempty"`
	// Expr is the cron expression.
	Expr string `json:"expr,omitempty"`
	// Zone is the IANA zone the schedule is read in; empty is the profile's.
	Zone string `json:"timezone,omitempty"`
	// Display is how the schedule is shown.
	Display string `json:"display"`
}

// Recurring reports whether the schedule has more than one occurrence.
func (s Schedule) Recurring() bool { return s.Kind == Interval || s.Kind == Cron }

// Check reports what is wrong with a schedule that came from a file.
func (s Schedule) Check() error {
	if s.Zone != "" {
		if _, err := LoadZone(s.Zone); err != nil {
			return err
		}
	}
	switch s.Kind {
	case Once:
		if s.RunAt.IsZero() {
			return fmt.Errorf("a one-shot schedule needs run_at")
		}
	case Interval:
		if s.Minutes < 1 || s.Minutes > maxIntervalMinutes {
			return fmt.Errorf("an interval of %d minutes is not between 1 and %d", s.Minutes, maxIntervalMinutes)
		}
	case Cron:
		_, err := ParseExpression(s.Expr)
		return err
	default:
		return fmt.Errorf("schedule kind %q is not once, interval or cron", s.Kind)
	}
	return nil
}

// In returns the zone the schedule is read in: its own, else the profile's.
func (s Schedule) In(profile *time.Location) *time.Location {
	if s.Zone != "" {
		if zone, err := LoadZone(s.Zone); err == nil {
			return zone
		}
	}
	if profile == nil {
		return time.UTC
	}
	return profile
}

// LoadZone loads an IANA zone. "Local" is refused: what it means depends on the machine.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("timezone %q depends on the machine: name an IANA zone such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("timezone %q is not known: name an IANA zone such as Europe/Berlin", name)
	}
	return zone, nil
}

// Next returns the first occurrence after base; last is the newest occurrence that was used, see [Expression.Next].
// profile is the profile's zone. A one-shot that is not after base has none.
//
// Implements C-124, C-125.
func (s Schedule) Next(base, last time.Time, profile *time.Location) (time.Time, bool) {
	zone := s.In(profile)
	switch s.Kind {
	case Once:
		at := s.RunAt.Localised(zone)
		return at.Time, at.After(base)
	case Interval:
		if s.Minutes < 1 {
			return time.Time{}, false
		}
		return base.Add(time.Duration(s.Minutes) * time.Minute).Truncate(time.Microsecond).In(zone), true
	case Cron:
		e, err := ParseExpression(s.Expr)
		if err != nil {
			return time.Time{}, false
		}
		return e.Next(base, last, zone)
	}
	return time.Time{}, false
}

// Names reports whether the wall clock that t shows is one the schedule names. Only a cron schedule names wall clocks.
func (s Schedule) Names(t time.Time) bool {
	e, err := ParseExpression(s.Expr)
	return s.Kind == Cron && err == nil && e.MatchesWall(t)
}
