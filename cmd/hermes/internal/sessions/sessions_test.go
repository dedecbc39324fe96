package sessions

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, " 30m ": 30 * time.Minute,
		"": 0, "0d": 0, "-1d": 0, "d": 0, "1x": 0, "99999999d": 0, "NaNd": 0, "infd": 0,
	} {
		if got, err := ParseAge(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseWhen(t *testing.T) {
	zone := time.FixedZone("z", 3600)
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"7d":                   now.AddDate(0, 0, -7),
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11-01T08:30":     time.Date(2026, 11, 1, 8, 30, 0, 0, zone),
		"2026-11-01T08:30:00Z": time.Date(2026, 11, 1, 8, 30, 0, 0, time.UTC),
	} {
		if got, err := ParseWhen(text, now, zone); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]time.Time{
		"2026-11-01":       time.Date(2026, 11, 1, 23, 59, 59, 999999000, zone),
		"2026-11-01T08:30": time.Date(2026, 11, 1, 8, 30, 0, 0, zone),
		"":                 {},
	} {
		if got, err := ParseUntil(text, now, zone); err != nil || !got.Equal(want) {
			t.Errorf("until %q: %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := ParseWhen("soon", now, zone); err == nil || !strings.Contains(err.Error(), "is no time") {
		t.Errorf("soon: %v", err)
	}
}

func TestHitsAreHarmless(t *testing.T) {
	hits := []localapi.SearchHit{{Session: "s", Role: "user", Snippet: "a \x1b[2J\n>>>b<<<\u202e"}}
	for bold, want := range map[bool]string{false: "a ^[[2J [b]<U+202E>", true: "a ^[[2J \x1b[1mb\x1b[0m<U+202E>"} {
		var out bytes.Buffer
		if err := Hits(&out, hits, bold, false); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("bold %t: %q, %v", bold, out.String(), err)
		}
	}
}
