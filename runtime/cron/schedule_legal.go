package cron

import "time"

// Legal reports whether at is an occurrence of the schedule in its zone: one that the clocks show, or the instant that
// stands in for one they leave out. Any instant is legal for an interval.
func (s Schedule) Legal(at time.Time, profile *time.Location) bool {
	if s.Kind != Cron {
		return true
	}
	next, ok := s.Next(at.Add(-time.Second), time.Time{}, profile)
	return ok && next.Equal(at)
}
