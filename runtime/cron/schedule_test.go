package cron

import (
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func TestParseSchedule(t *testing.T) {
	now := utc(t, "2026-03-14T10:00:00Z")
	kolkata := zone(t, "Asia/Kolkata")
	for _, c := range []struct{ id, text, want string }{
		{"T-100", "30m", "interval 30"},
		{"T-100", "every 30m", "interval 30"},
		{"T-100", "every hour", "interval 60"},
		{"T-100", "every 2h", "interval 120"},
		{"C-121", "Every  3 Days", "interval 4320"},
		{"C-121", "mins", "interval 1"},
		{"T-101", "in 30m", "once 2026-03-14T10:30:00Z"},
		{"T-102", "2026-03-15T09:00:00", "once 2026-03-15T03:30:00Z"},
		{"C-123", "2026-03-15 09:00", "once 2026-03-15T03:30:00Z"},
		{"C-123", "2026-03-15T09:00:00Z", "once 2026-03-15T09:00:00Z"},
		{"C-123", "2026-03-15T09:00:00.5+0200", "once 2026-03-15T07:00:00.5Z"},
		{"T-103", "every monday 9am", "cron 0 9 * * 1"},
		{"T-103", "weekdays at 9am", "cron 0 9 * * 1-5"},
		{"T-103", "weekends at 10am", "cron 0 10 * * 0,6"},
		{"T-103", "monday, wednesday at 9:30pm", "cron 30 21 * * 1,3"},
		{"C-122", "every sat and sun at noon", "cron 0 12 * * 0,6"},
		{"C-122", "mon, tue, and thurs at 12am", "cron 0 0 * * 1,2,4"},
		{"C-122", "daily 14:05", "cron 5 14 * * *"},
		{"C-122", "everyday at 7", "cron 0 7 * * *"},
		{"C-122", "every day midnight", "cron 0 0 * * *"},
		{"T-104", "every day", "interval 1440"},
		{"T-105", "0 9 * * MON-FRI", "cron 0 9 * * MON-FRI"},
		{"C-120", "*/5 0-4,22 1 JAN 7 30", "cron */5 0-4,22 1 JAN 7 30"},
	} {
		t.Run(c.id+" "+c.text, func(t *testing.T) {
			s, err := ParseSchedule(c.text, now, kolkata)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(s); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if err := s.Check(); err != nil {
				t.Errorf("a parsed schedule is refused: %v", err)
			}
		})
	}
}

func describe(s Schedule) string {
	switch s.Kind {
	case Once:
		return "once " + s.RunAt.UTC().Format(time.RFC3339Nano)
	case Interval:
		return "interval " + strings.TrimSuffix(strings.TrimPrefix(s.Display, "every "), "m")
	}
	return "cron " + s.Expr
}

func TestParseScheduleRefusesC120(t *testing.T) {
	for text, says := range map[string]string{
		"":                      "empty",
		"soon":                  "write one of",
		"every monday":          "write one of",
		"monday at 25:00":       "write one of",
		"monday at 13pm":        "write one of",
		"0m":                    "write one of",
		"99999999999999999999m": "write one of",
		"99999999d":             "write one of",
		"in a while":            "not a duration",
		"2026-13-01":            "not an ISO time",
		"1812-01-01T00:00":      "between 1970 and 9999",
		"61 * * * *":            "above maximum",
		"5-1 * * * *":           "beyond end",
		", * * * *":             "names nothing",
		"0 0 31 2 *":            "no date within ten years",
		"* * * * * * *":         "7 fields",
		"*/0 * * * *":           "positive",
	} {
		if s, err := ParseSchedule(text, utc(t, "2026-03-14T10:00:00Z"), time.UTC); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %+v, %v; want an error with %q", text, s, err, says)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{"30m", "every 2h", "every monday 9am", "0 9 * * MON-FRI", "2026-03-15T09:00:00+05:30", "in 2 hours",
		"*/5 1-7/2 * JAN,FEB 5-7", "weekdays at noon", "* * * * * */7"} {
		f.Add(text)
	}
	now := time.Date(2026, 3, 14, 10, 0, 0, 0, time.UTC)
	newYork, err := LoadZone("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchedule(text, now, newYork)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("%q parsed to a schedule that is refused: %v", text, err)
		}
		if next, ok := s.Next(now, time.Time{}, newYork); s.Recurring() && (!ok || !next.After(now)) {
			t.Fatalf("%q: next is %v, %v", text, next, ok)
		}
	})
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ id, text, zone, base, last, want string }{
		{"T-105", "0 9 * * MON-FRI", "UTC", "2026-03-14T10:00:00Z", "", "2026-03-16T09:00:00Z"},
		{"T-107", "0 9 * * *", "America/Toronto", "2026-03-07T14:00:00Z", "", "2026-03-08T13:00:00Z"},
		{"T-108", "30 1 * * *", "America/New_York", "2026-11-01T04:00:00Z", "", "2026-11-01T05:30:00Z"},
		{"T-109", "30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "", "2026-11-02T06:30:00Z"},
		{"T-109 a tick a little later", "30 1 * * *", "America/New_York", "2026-11-01T05:30:20Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},
		{"T-110", "30 1 * * *", "America/New_York", "2026-11-01T06:15:00Z", "", "2026-11-01T06:30:00Z"},
		{"T-110 used in the first pass", "30 1 * * *", "America/New_York", "2026-11-01T06:15:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},
		{"T-110 created between the passes", "30 1 * * *", "America/New_York", "2026-11-01T05:45:00Z", "", "2026-11-01T06:30:00Z"},
		{"T-110 quarters left in the second pass", "*/15 * * * *", "America/New_York", "2026-11-01T06:20:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:45:00Z"},
		{"C-124 a repeated hour is used once", "*/15 * * * *", "America/New_York", "2026-11-01T05:45:00Z", "", "2026-11-01T07:00:00Z"},
		{"T-111", "30 2 * * *", "America/New_York", "2026-03-08T05:00:00Z", "", "2026-03-08T07:30:00Z"},
		{"T-111 after it", "30 2 * * *", "America/New_York", "2026-03-08T07:30:00Z", "", "2026-03-09T06:30:00Z"},
		{"T-112", "every 1d", "America/Toronto", "2026-03-07T14:00:00Z", "", "2026-03-08T14:00:00Z"},
		{"C-124 half-hour change", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:30:00Z", "", "2026-04-04T14:45:00Z"},
		{"C-124 sixth field", "0 0 * * * 30", "UTC", "2026-03-14T10:00:00Z", "", "2026-03-15T00:00:30Z"},
		{"C-124 leap day", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "", "2104-02-29T00:00:00Z"},
		{"C-124 Sunday is 7", "0 0 * * 5-7", "UTC", "2026-03-14T10:00:00Z", "", "2026-03-15T00:00:00Z"},
		{"C-124 either day field", "0 0 20 * MON", "UTC", "2026-03-14T10:00:00Z", "", "2026-03-16T00:00:00Z"},
	} {
		t.Run(c.id, func(t *testing.T) {
			s, err := ParseSchedule(c.text, utc(t, c.base), zone(t, c.zone))
			if err != nil {
				t.Fatal(err)
			}
			var last time.Time
			if c.last != "" {
				last = utc(t, c.last)
			}
			got, ok := s.Next(utc(t, c.base), last, zone(t, c.zone))
			if !ok || !got.Equal(utc(t, c.want)) {
				t.Errorf("got %v, %v; want %s", got.UTC(), ok, c.want)
			}
		})
	}
}

func TestGraceT113(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1m": 120, "5m": 150, "10m": 300, "30m": 900, "1h": 1800, "2h": 3600, "4h": 7200,
		"0 9 * * *": 7200, "0 9 * * 1": 7200, "*/30 * * * *": 900,
	} {
		s, err := ParseSchedule(text, utc(t, "2026-03-14T10:00:00Z"), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Grace(utc(t, "2026-03-14T10:00:00Z"), time.UTC); got != want*time.Second {
			t.Errorf("%s: got %s, want %ds", text, got, want)
		}
	}
	if got := (Schedule{Kind: Cron, Expr: "x"}).Grace(time.Now(), time.UTC); got != minGrace {
		t.Errorf("unparsable: got %s", got)
	}
}

func TestLatenessT114(t *testing.T) {
	for _, c := range []struct {
		id          string
		late, grace time.Duration
		want        Lateness
	}{
		{"T-114", 200, 900, OnTime}, {"T-114", 300, 900, OnTime}, {"T-114", 400, 900, Late},
		{"T-114", 900, 900, Late}, {"T-114", 901, 900, CatchUp}, {"T-115", 200, 150, CatchUp},
	} {
		if got := ClassifyLateness(c.late*time.Second, c.grace*time.Second); got != c.want {
			t.Errorf("%s: %d s late with grace %d s: got %s, want %s", c.id, c.late, c.grace, got, c.want)
		}
	}
}

func TestParseRepeatT125(t *testing.T) {
	for text, want := range map[string]int{"forever": 0, "": 0, "inf": 0, "none": 0, "once": 1, "1x": 1, "3": 3, "0": 0, "-2": 0} {
		got, err := ParseRepeat(text)
		if err != nil || (got == nil) != (want == 0) || (got != nil && *got != want) {
			t.Errorf("%q: got %v, %v; want %d", text, got, err, want)
		}
	}
	if _, err := ParseRepeat("x"); err == nil {
		t.Error("x is accepted")
	}
}

func TestInstantJSON(t *testing.T) {
	for text, want := range map[string]string{
		`null`: `null`, `""`: `null`, `"2026-03-15T09:00:00Z"`: `"2026-03-15T09:00:00+00:00"`,
		`"2026-03-15T09:00:00.123456+05:30"`: `"2026-03-15T09:00:00.123456+05:30"`, `"2026-03-15T09:00"`: `"2026-03-15T09:00:00"`,
	} {
		var i Instant
		if err := i.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := i.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}
