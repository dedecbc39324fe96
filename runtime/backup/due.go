package backup

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is when backups are due.
type Schedule struct {
	cron cron.Schedule
	zone *time.Location
}

// ParseSchedule reads five cron fields or a descriptor such as @daily, in an IANA time zone; "" is the machine's.
func ParseSchedule(text, zone string) (Schedule, error) {
	if strings.Contains(text, "TZ=") {
		return Schedule{}, fmt.Errorf("backup schedule %q: the time zone goes into spec.cron.timezone", text)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("backup schedule %q: %w: use five cron fields such as \"0 3 * * *\", or @daily", text, err)
	}
	location := time.Local
	if zone != "" {
		if location, err = time.LoadLocation(zone); err != nil {
			return Schedule{}, fmt.Errorf("backup schedule: time zone %q: %w", zone, err)
		}
	}
	s := Schedule{cron: parsed, zone: location}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("backup schedule %q never comes: use a date that exists", text)
	}
	return s, nil
}

// Next is the first time of the schedule after t.
func (s Schedule) Next(t time.Time) time.Time { return s.cron.Next(t.In(s.zone)) }

// retryAfter is how long a failed backup waits, when the schedule does not come sooner.
const retryAfter = 15 * time.Minute

// Due decides when the next backup is made. last is when the newest good one was made and failed when one failed last;
// zero for never. A time that passed while nothing ran is made up for once, at once, however many passed; a profile that
// has no backup gets its first at once. A failure is tried again after a while.
func (s Schedule) Due(last, failed, now time.Time) time.Time {
	due := now
	if !last.IsZero() {
		due = s.Next(last)
		if last.After(now) { // the clock was set back: what is due is due from now on
			due = s.Next(now)
		}
	}
	if failed.IsZero() || failed.Before(last) {
		return latest(due, now)
	}
	again := failed.Add(retryAfter)
	if next := s.Next(failed); next.Before(again) {
		again = next
	}
	return latest(again, now)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
