package sessions

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseAge reads how long ago: 90d, 12h, 30m, 2w or what Go reads as a duration.
func ParseAge(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	unit := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for suffix, length := range unit {
		number, ok := strings.CutSuffix(text, suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n > 0 && n <= 36500) { // not a number is neither
			break
		}
		return time.Duration(n * float64(length)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no age: use for example 90d, 2w or 12h", text)
	}
	return d, nil
}

// ParseWhen reads a point in time: a date, a date and time, or an age before now. A time without a zone is local.
// Empty text is the zero time.
func ParseWhen(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	age, err := ParseAge(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time: use for example 2026-11-29, 2026-11-29T12:00 or 7d", text)
	}
	return now.Add(-age), nil
}
