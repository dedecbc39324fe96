package cron

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxIntervalMinutes is a hundred years; beyond it a duration overflows what a clock can add.
const maxIntervalMinutes = 100 * 366 * 24 * 60

const scheduleForms = `write one of: "30m" or "every 2h" (recurring), "in 30m" (once), "every monday 9am", "weekdays at 9am", ` +
	`five cron fields like "0 9 * * 1-5", or a time like "2027-01-31T09:00"`

var (
	isoDate     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
	durationRow = regexp.MustCompile(`^(\d*)\s*([a-z]+)$`)
)

// ParseSchedule reads what a person wrote. now is the base of a delay; zone is what a time without an offset is in.
// The first form that recognises the text decides, in this order: day phrase, every-duration, cron fields, ISO time,
// in-duration, bare duration.
//
// Implements C-120 to C-123.
func ParseSchedule(text string, now time.Time, zone *time.Location) (Schedule, error) {
	original := strings.Join(strings.Fields(text), " ")
	lower := strings.ToLower(original)
	if lower == "" {
		return Schedule{}, fmt.Errorf("the schedule is empty: %s", scheduleForms)
	}
	rest, every := strings.CutPrefix(lower, "every ")
	if expr, ok := parseDayPhrase(rest); ok {
		return Schedule{Kind: Cron, Expr: expr, Display: expr}, nil
	}
	if every {
		return parseInterval(rest, original)
	}
	if fields := strings.Fields(original); looksLikeCron(fields) {
		if _, err := ParseExpression(original); err != nil {
			return Schedule{}, err
		}
		return checkedCron(original, now, zone)
	}
	if strings.Contains(original, "T") || isoDate.MatchString(original) {
		at, err := ParseInstant(original)
		if err != nil {
			return Schedule{}, fmt.Errorf("schedule %w", err)
		}
		return once(at.Localised(zone)), nil
	}
	if delay, ok := strings.CutPrefix(lower, "in "); ok {
		minutes, ok := parseMinutes(delay)
		if !ok {
			return Schedule{}, fmt.Errorf("schedule %q: %q is not a duration: write it like \"in 30m\" or \"in 2 hours\"", original, delay)
		}
		return once(At(now.UTC().Add(time.Duration(minutes) * time.Minute).In(orUTC(zone)))), nil
	}
	return parseInterval(lower, original)
}

func once(at Instant) Schedule {
	return Schedule{Kind: Once, RunAt: at, Display: "once at " + at.Format("2006-01-02 15:04")}
}

func orUTC(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

func checkedCron(expr string, now time.Time, zone *time.Location) (Schedule, error) {
	s := Schedule{Kind: Cron, Expr: expr, Display: expr}
	if _, ok := s.Next(now, time.Time{}, zone); !ok {
		return Schedule{}, fmt.Errorf("cron expression %q names no date within ten years: correct the day or the month", expr)
	}
	return s, nil
}

func parseInterval(duration, original string) (Schedule, error) {
	minutes, ok := parseMinutes(duration)
	if !ok {
		return Schedule{}, fmt.Errorf("schedule %q is not understood: %s", original, scheduleForms)
	}
	return Schedule{Kind: Interval, Minutes: minutes, Display: fmt.Sprintf("every %dm", minutes)}, nil
}

func looksLikeCron(fields []string) bool {
	if len(fields) < 5 {
		return false
	}
	for _, field := range fields[:5] {
		if !cronField.MatchString(field) {
			return false
		}
	}
	return true
}

// parseMinutes reads a duration in whole minutes; a unit alone counts one.
//
// Implements C-121.
func parseMinutes(text string) (int, bool) {
	parts := durationRow.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, false
	}
	unit := 0
	switch parts[2] {
	case "m", "min", "mins", "minute", "minutes":
		unit = 1
	case "h", "hr", "hrs", "hour", "hours":
		unit = 60
	case "d", "day", "days":
		unit = 24 * 60
	default:
		return 0, false
	}
	count := 1
	if parts[1] != "" {
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > maxIntervalMinutes/unit {
			return 0, false
		}
		count = n
	}
	return count * unit, true
}
