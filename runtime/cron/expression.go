package cron

import (
	"fmt"
	"math/bits"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const daySeconds = 24 * 60 * 60

// starBit is what the field parser sets for a field that restricts nothing.
const starBit = uint64(1) << 63

// Expression is a parsed cron expression: which wall-clock seconds it names. It knows nothing of zones; see next.go.
type Expression struct {
	second, minute, hour, dom, month, dow uint64
}

var cronField = regexp.MustCompile(`^[A-Za-z0-9*,/-]+$`)

// ParseExpression reads five cron fields (minute, hour, day of month, month, day of week) or six, where the sixth is the
// second. Month and weekday names, lists, ranges and steps are understood; 7 is Sunday too.
// Implements the syntax of C-124.
func ParseExpression(text string) (Expression, error) {
	fields := strings.Fields(text)
	if len(fields) != 5 && len(fields) != 6 {
		return Expression{}, fmt.Errorf("cron expression %q has %d fields: write five (minute hour day month weekday), or six with seconds last", text, len(fields))
	}
	for _, field := range fields {
		if !cronField.MatchString(field) {
			return Expression{}, fmt.Errorf("cron expression %q: field %q has a character that is not a letter, digit or one of * , / -", text, field)
		}
	}
	second := "0"
	if len(fields) == 6 {
		second = fields[5]
	}
	fields[4] = sundayIsZero(fields[4])
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	parsed, err := parser.Parse(second + " " + strings.Join(fields[:5], " "))
	if err != nil {
		return Expression{}, fmt.Errorf("cron expression %q: %w", text, err)
	}
	spec := parsed.(*cron.SpecSchedule) // what this parser returns when descriptors are off
	e := Expression{spec.Second, spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}
	for i, field := range []uint64{e.second, e.minute, e.hour, e.dom, e.month, e.dow} {
		if field&^starBit == 0 {
			names := []string{"second", "minute", "hour", "day of month", "month", "weekday"}
			return Expression{}, fmt.Errorf("cron expression %q: the %s field names nothing", text, names[i])
		}
	}
	return e, nil
}

// sundayIsZero rewrites a weekday field that calls Sunday 7 for a parser that knows it as 0 only.
func sundayIsZero(field string) string {
	var out []string
	for _, part := range strings.Split(field, ",") {
		body, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(body, "-")
		switch {
		case !ranged && from == "7" && !stepped:
			part = "0"
		case ranged && to == "7" && from == "7":
			part = "0"
		case ranged && to == "7" && !stepped:
			part = from + "-6,0"
		case ranged && to == "7" && step == "1":
			part = from + "-6,0"
		}
		out = append(out, part)
	}
	return strings.Join(out, ",")
}

func has(field uint64, value int) bool { return field&(1<<uint(value)) != 0 }

// MatchesWall reports whether the expression names the wall clock that t shows in its own location.
func (e Expression) MatchesWall(t time.Time) bool {
	return t.Nanosecond() == 0 && e.matchesDate(t) &&
		has(e.hour, t.Hour()) && has(e.minute, t.Minute()) && has(e.second, t.Second())
}

// matchesDate applies the rule that a day matches when both day fields do, or either of them when both are restricted.
func (e Expression) matchesDate(t time.Time) bool {
	if !has(e.month, int(t.Month())) {
		return false
	}
	dom, dow := has(e.dom, t.Day()), has(e.dow, int(t.Weekday()))
	if e.dom&starBit != 0 || e.dow&starBit != 0 {
		return dom && dow
	}
	return dom || dow
}

// nextWall returns the first wall clock in [from, to) that the expression names. Wall clocks are counted in seconds as
// if they were UTC, so no zone has a say here.
func (e Expression) nextWall(from, to int64) (int64, bool) {
	for day := floorDiv(from, daySeconds) * daySeconds; day < to; {
		t := time.Unix(day, 0).UTC()
		if !has(e.month, int(t.Month())) {
			day = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
			continue
		}
		if e.matchesDate(t) {
			if within, ok := e.nextInDay(max(from-day, 0)); ok {
				wall := day + within
				return wall, wall < to
			}
		}
		day += daySeconds
	}
	return 0, false
}

// nextInDay returns the first second of a matching day, at or after from, that the expression names.
func (e Expression) nextInDay(from int64) (int64, bool) {
	if from >= daySeconds {
		return 0, false
	}
	h, m, s := int(from/3600), int(from/60%60), int(from%60)
	for hour, ok := nextBit(e.hour, h); ok; hour, ok = nextBit(e.hour, hour+1) {
		if hour > h {
			m, s = 0, 0
		}
		for minute, ok := nextBit(e.minute, m); ok; minute, ok = nextBit(e.minute, minute+1) {
			if hour > h || minute > int(from/60%60) {
				s = 0
			}
			if second, ok := nextBit(e.second, s); ok {
				return int64(hour*3600 + minute*60 + second), true
			}
			s = 0
		}
	}
	return 0, false
}

// nextBit returns the lowest set bit at or above from.
func nextBit(field uint64, from int) (int, bool) {
	if from > 62 {
		return 0, false
	}
	rest := field &^ starBit >> uint(from) << uint(from)
	if rest == 0 {
		return 0, false
	}
	return bits.TrailingZeros64(rest), true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
