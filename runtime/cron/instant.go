package cron

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// isoLayout writes an instant with its offset, as the job file has always had it.
const isoLayout = "2006-01-02T15:04:05.999999-07:00"

// Instant is a point in time in the job file. The zero value is "not set" and is written as null.
// All comparisons are between instants, never between texts (C-126).
type Instant struct {
	time.Time
	// Naive says the text carried no offset, so that the value names a wall clock and not yet an instant. Such a value is
	// read as UTC until [Instant.Localised] gives it a zone, and it never identifies an occurrence (C-153).
	Naive bool
}

// At returns the instant t, cut to microseconds, which is what the file holds.
func At(t time.Time) Instant {
	if t.IsZero() {
		return Instant{}
	}
	return Instant{Time: t.Truncate(time.Microsecond)}
}

// Localised gives a naive value the zone it was meant in; other values are returned as they are.
func (i Instant) Localised(zone *time.Location) Instant {
	if !i.Naive || i.IsZero() {
		return i
	}
	return At(resolveWall(i.Unix(), zone).Add(time.Duration(i.Nanosecond())))
}

// MarshalJSON writes an ISO time with its offset, or null.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	layout := isoLayout
	if i.Naive {
		layout = strings.TrimSuffix(isoLayout, "-07:00")
	}
	return json.Marshal(i.Format(layout))
}

// UnmarshalJSON reads null, an empty text or an ISO time.
func (i *Instant) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if text == nil || *text == "" {
		*i = Instant{}
		return nil
	}
	parsed, err := ParseInstant(*text)
	if err != nil {
		return err
	}
	*i = parsed
	return nil
}

var isoForms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// ParseInstant reads an ISO date or time, with or without seconds, fraction and offset; Z is an offset (C-123).
func ParseInstant(text string) (Instant, error) {
	s := strings.TrimSpace(text)
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	for _, form := range isoForms {
		if t, err := time.ParseInLocation(form, s, time.UTC); err == nil {
			return checkedInstant(t, true, text)
		}
		for _, offset := range []string{"Z07:00", "Z0700"} {
			if t, err := time.Parse(form+offset, s); err == nil {
				return checkedInstant(t, false, text)
			}
		}
	}
	return Instant{}, fmt.Errorf("%q is not an ISO time: write it like 2027-01-31T09:00 or 2027-01-31T09:00:00+01:00", text)
}

func checkedInstant(t time.Time, naive bool, text string) (Instant, error) {
	if t.Year() < 1970 || t.Year() > 9999 {
		return Instant{}, fmt.Errorf("%q is not a usable time: the year must be between 1970 and 9999", text)
	}
	i := At(t)
	i.Naive = naive
	return i, nil
}
