package host

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var stormLimit = StormLimit{MaxStarts: 5, Window: 120 * time.Second}

// T-026, G-215: 5 s doubled per start beyond the limit, at most 300 s.
func TestStormDelay(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for starts, want := range map[int]time.Duration{
		0: 0, 1: 0, 5: 0, 6: 10 * time.Second, 7: 20 * time.Second, 8: 40 * time.Second, 9: 80 * time.Second, 10: 160 * time.Second,
		11: 300 * time.Second, 12: 300 * time.Second, 5000: 300 * time.Second,
	} {
		var times []time.Time
		for i := range starts {
			times = append(times, now.Add(-time.Duration(i%120)*time.Second))
		}
		if got := StormDelay(times, now, stormLimit); got != want {
			t.Errorf("start %d: %s, want %s", starts, got, want)
		}
	}
}

func TestStormDelayCountsTheWindowOnly(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	six := func(age time.Duration) []time.Time {
		times := make([]time.Time, 6)
		for i := range times {
			times[i] = now.Add(-age)
		}
		return times
	}
	for _, tc := range []struct {
		name  string
		age   time.Duration
		limit StormLimit
		want  time.Duration
	}{
		{"at the edge", 120 * time.Second, stormLimit, 10 * time.Second},
		{"beyond the edge", 121 * time.Second, stormLimit, 0},
		{"from the future", -time.Second, stormLimit, 0},
		{"switched off", 0, StormLimit{MaxStarts: 0, Window: time.Minute}, 0},
		{"no window", 0, StormLimit{MaxStarts: 5}, 0},
	} {
		if got := StormDelay(six(tc.age), now, tc.limit); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// G-215: the log itself.
func TestRecordStart(t *testing.T) {
	home := t.TempDir()
	now := time.Unix(1_700_000_000, 500_000_000)
	for i, want := range []time.Duration{0, 0, 0, 0, 0, 10 * time.Second, 20 * time.Second} {
		if got, err := RecordStart(home, now.Add(time.Duration(i)*time.Second), stormLimit); err != nil || got != want {
			t.Errorf("start %d: %s, %v, want %s", i+1, got, err, want)
		}
	}
	for i := range 60 {
		if _, err := RecordStart(home, now.Add(time.Hour+time.Duration(i)*time.Hour), stormLimit); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(home, StartLogFileName))
	if lines := bytes.Count(data, []byte("\n")); err != nil || lines != 40 {
		t.Errorf("%d lines kept, %v", lines, err)
	}
	for range 60 {
		if _, err := RecordStart(home, now, StormLimit{MaxStarts: 12, Window: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	data, err = os.ReadFile(filepath.Join(home, StartLogFileName))
	if lines := bytes.Count(data, []byte("\n")); err != nil || lines != 48 {
		t.Errorf("%d lines kept for 12 starts, %v", lines, err)
	}
}

// G-215: corrupt lines are skipped, and nothing is ever fatal.
func TestStartLogDamage(t *testing.T) {
	home := t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	damaged := "1699999999.25\n\ngarbage\n\x00\x00\nNaN\n+Inf\n-5\n1e300\n 1699999998 \r\n1699999997.5"
	if err := os.WriteFile(filepath.Join(home, StartLogFileName), []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := parseStartLog([]byte(damaged)); len(got) != 3 || got[0].UnixMilli() != 1_699_999_999_250 || got[2].UnixMilli() != 1_699_999_997_500 {
		t.Errorf("read %v", got)
	}
	if delay, err := RecordStart(home, now, StormLimit{MaxStarts: 3, Window: time.Minute}); err != nil || delay != 10*time.Second {
		t.Errorf("%s, %v", delay, err)
	}
	huge := t.TempDir()
	if err := os.WriteFile(filepath.Join(huge, StartLogFileName), bytes.Repeat([]byte("1700000000\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if delay, err := RecordStart(huge, now, stormLimit); err != nil || delay != 0 {
			t.Errorf("log that grew by damage: %s, %v", delay, err)
		}
	}
	if delay, err := RecordStart(filepath.Join(home, "gone"), now, stormLimit); err == nil || delay != 0 {
		t.Errorf("missing home: %s, %v", delay, err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, StartLogFileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if delay, err := RecordStart(dir, now, stormLimit); err == nil || delay != 0 {
		t.Errorf("unreadable log: %s, %v", delay, err)
	}
}
