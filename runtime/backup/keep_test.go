package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestExcess is the truth table of pruning.
func TestExcess(t *testing.T) {
	entry := func(name, kind string) Entry {
		e := Entry{Backup: Backup{Path: name, Manifest: Manifest{Profile: "alice", Trigger: Scheduled}}}
		switch kind {
		case "manual":
			e.Trigger = Manual
		case "other":
			e.Profile = "bob"
		case "damaged":
			e.Err = errors.New("damaged")
		}
		return e
	}
	for _, c := range []struct {
		name  string
		kinds string // newest first: s scheduled, m manual, o another profile's, d damaged
		keep  int
		want  string // indexes that go
	}{
		{"none", "", 3, ""},
		{"fewer than keep", "ss", 3, ""},
		{"as many as keep", "sss", 3, ""},
		{"more than keep", "sssss", 3, "34"},
		{"manual ones stay and do not count", "msmsms", 2, "5"},
		{"another profile's stay and do not count", "sosos", 2, "4"},
		{"damaged ones stay and do not count", "dsdsds", 2, "5"},
		{"the last good one stays", "dddds", 0, ""},
		{"keep below one is one", "ss", 0, "1"},
		{"keep below one is one, negative", "sss", -4, "12"},
	} {
		var list []Entry
		for i, k := range c.kinds {
			list = append(list, entry(string(rune('0'+i)), map[rune]string{'s': "", 'm': "manual", 'o': "other", 'd': "damaged"}[k]))
		}
		var got strings.Builder
		for _, e := range Excess(list, "alice", c.keep) {
			got.WriteString(e.Path)
		}
		if got.String() != c.want {
			t.Errorf("%s: removes %q, want %q", c.name, got.String(), c.want)
		}
	}
}

// TestPrune removes files, and List and Newest see what is left, damaged files and strangers included.
func TestPrune(t *testing.T) {
	home := makeHome(t, 1)
	for i := range 4 {
		createAt(t, home, start.Add(time.Duration(i)*time.Hour))
	}
	manual := createAt(t, home, start.Add(-time.Hour), func(o *CreateOptions) { o.Trigger = Manual })
	cut := filepath.Join(dirOf(home), "alice-"+start.Add(9*time.Hour).Format(stampLayout)+suffix)
	must(t, os.WriteFile(cut, []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(dirOf(home), "alice-notes.txt"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dirOf(home), "alice-b-"+start.Format(stampLayout)+suffix), nil, 0o600))
	removed, err := Prune(dirOf(home), "alice", 2)
	must(t, err)
	if len(removed) != 2 || !removed[1].Created.Equal(start) {
		t.Errorf("removed %+v", removed)
	}
	list, err := List(dirOf(home), "alice")
	must(t, err)
	if len(list) != 4 || list[0].Path != cut || list[0].Err == nil || list[3].Path != manual.Path || list[3].Err != nil {
		t.Errorf("list %+v", list)
	}
	newest, ok, err := Newest(dirOf(home), "alice")
	if err != nil || !ok || !newest.Created.Equal(start.Add(3*time.Hour)) {
		t.Errorf("newest %+v %v %v", newest, ok, err)
	}
	if _, ok, err := Newest(filepath.Join(home, "nowhere"), "alice"); ok || err != nil {
		t.Errorf("no directory: %v %v", ok, err)
	}
}

// TestSameMoment: two backups of one millisecond are two backups.
func TestSameMoment(t *testing.T) {
	home := makeHome(t, 1)
	if a, b := createAt(t, home, start), createAt(t, home, start); a.Path == b.Path {
		t.Error(a.Path)
	}
}

// TestDue is the truth table of the schedule.
func TestDue(t *testing.T) {
	s, err := ParseSchedule("0 3 * * *", "UTC")
	must(t, err)
	day := func(n int, hour float64) time.Time {
		return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour * float64(time.Hour)))
	}
	var never time.Time
	for _, c := range []struct {
		name              string
		last, failed, now time.Time
		want              time.Time
	}{
		{"never backed up: at once", never, never, day(5, 12), day(5, 12)},
		{"tonight's is made", day(5, 3), never, day(5, 12), day(6, 3)},
		{"one was missed: at once", day(4, 3), never, day(5, 12), day(5, 12)},
		{"many were missed: once, at once", day(1, 3), never, day(5, 12), day(5, 12)},
		{"made a little early, by hand", day(5, 2.9), never, day(5, 2.95), day(5, 3)},
		{"failed: again after a while", day(4, 3), day(5, 3), day(5, 3), day(5, 3.25)},
		{"failed long ago: at once", day(4, 3), day(5, 3), day(5, 12), day(5, 12)},
		{"failed just before its time", day(4, 3), day(5, 2.9), day(5, 2.9), day(5, 3)},
		{"failed, then made", day(5, 3.5), day(5, 3), day(5, 4), day(6, 3)},
		{"first one failed", never, day(5, 12), day(5, 12), day(5, 12.25)},
		{"clock set back", day(9, 3), never, day(5, 12), day(6, 3)},
	} {
		if got := s.Due(c.last, c.failed, c.now); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestParseSchedule: a time zone counts, also over its changes, and mistakes say what to write.
func TestParseSchedule(t *testing.T) {
	s, err := ParseSchedule("@daily", "Europe/Berlin")
	must(t, err)
	if got := s.Next(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)); !got.Equal(time.Date(2026, 7, 1, 22, 0, 0, 0, time.UTC)) {
		t.Error(got)
	}
	for _, c := range [][3]string{
		{"every day", "", "use five cron fields"}, {"0 3 * *", "", "use five cron fields"}, {"61 * * * *", "", "use five cron fields"},
		{"0 3 * * *", "Mars/Olympus", "time zone"}, {"CRON_TZ=UTC 0 3 * * *", "", "spec.cron.timezone"}, {"0 0 31 2 *", "", "never comes"}, {"", "", "use five cron fields"},
	} {
		if _, err := ParseSchedule(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q in %q: %v", c[0], c[1], err)
		}
	}
}
