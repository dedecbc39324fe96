package cron

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The oracle walks every minute of a window, asks the zone what its wall clock shows, and builds the table of wall clocks
// to instants from nothing else. It shares the field parser with the code under test and no search.
type wallTable struct {
	walls []int64           // every wall minute of the window in order, also those the zone leaves out
	at    map[int64][]int64 // the instants that show it
	gap   map[int64]int64   // the instant of one that is left out
}

func walk(zone *time.Location, from, to time.Time) wallTable {
	table := wallTable{at: map[int64][]int64{}, gap: map[int64]int64{}}
	previous, highest := int64(0), int64(0)
	for u := from.Unix(); u < to.Unix(); u += 60 {
		t := time.Unix(u, 0).In(zone)
		wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC).Unix()
		if highest != 0 && wall > previous+60 {
			for missing := previous + 60; missing < wall; missing += 60 {
				if _, shown := table.at[missing]; !shown {
					table.gap[missing] = u - 60 + missing - previous
					table.walls = append(table.walls, missing)
				}
			}
		}
		if wall > highest {
			highest = wall
			table.walls = append(table.walls, wall)
		}
		table.at[wall] = append(table.at[wall], u)
		previous = wall
	}
	return table
}

// next is the rule of docs/cron.md in words: the earliest instant after base of a wall clock that was not used.
func (w wallTable) next(e Expression, base, last int64) int64 {
	used := map[int64]bool{}
	for wall, instants := range w.at {
		for _, reference := range []int64{base, last} {
			if len(instants) < 2 || reference == 0 {
				continue
			}
			shown := time.Unix(wall, 0).UTC()
			if reference >= instants[0] && reference < instants[0]+3600 && e.MatchesWall(shown) && w.isOccurrenceInFirstPass(e, reference, reference == last) {
				used[wall] = true
			}
		}
	}
	best := int64(0)
	for _, wall := range w.walls {
		if !e.MatchesWall(time.Unix(wall, 0).UTC()) || used[wall] {
			continue
		}
		instants := w.at[wall]
		if gap, ok := w.gap[wall]; ok {
			instants = []int64{gap}
		}
		for _, at := range instants {
			if at > base && (best == 0 || at < best) {
				best = at
			}
		}
	}
	return best
}

func (w wallTable) isOccurrenceInFirstPass(e Expression, reference int64, trusted bool) bool {
	for wall, instants := range w.at {
		if len(instants) == 2 && instants[0] == reference {
			return trusted || e.MatchesWall(time.Unix(wall, 0).UTC())
		}
	}
	return false
}

// TestNextAgainstMinuteWalkC124 compares the search with the oracle around clock changes of every awkward kind.
func TestNextAgainstMinuteWalkC124(t *testing.T) {
	changes := []struct{ zone, around string }{
		{"America/New_York", "2026-03-08T07:00:00Z"}, {"America/New_York", "2026-11-01T06:00:00Z"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z"}, {"Europe/Berlin", "2026-10-25T01:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"Africa/Cairo", "2026-04-23T22:00:00Z"}, {"America/Santiago", "2026-09-06T04:00:00Z"},
		{"America/Santiago", "2026-04-05T03:00:00Z"}, {"Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"Asia/Kathmandu", "2026-06-01T00:00:00Z"}, {"Antarctica/Troll", "2026-03-29T01:00:00Z"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, change := range changes {
		z := zone(t, change.zone)
		around := utc(t, change.around)
		table := walk(z, around.Add(-40*time.Hour), around.Add(80*time.Hour))
		for range 40 {
			text := randomExpression(random)
			e, err := ParseExpression(text)
			if err != nil {
				t.Fatal(err)
			}
			base := around.Unix() + random.Int64N(8*3600) - 4*3600
			if random.IntN(3) > 0 {
				base -= base % 60
			}
			want := table.next(e, base, 0)
			if want == 0 {
				continue // not within the window
			}
			got, ok := e.Next(time.Unix(base, 0), time.Time{}, z)
			if !ok || got.Unix() != want {
				t.Errorf("%s %q after %s: got %s, want %s", change.zone, text, time.Unix(base, 0).UTC(), got.UTC(), time.Unix(want, 0).UTC())
			}
			if again := table.next(e, base, want); again != 0 {
				// The tick after the occurrence, a few seconds late, knows it as the last one.
				late := time.Unix(want+random.Int64N(50), 0)
				if want2 := table.next(e, late.Unix(), want); want2 != 0 {
					if got, ok := e.Next(late, time.Unix(want, 0), z); !ok || got.Unix() != want2 {
						t.Errorf("%s %q after %s, used %s: got %s, want %s", change.zone, text, late.UTC(), time.Unix(want, 0).UTC(), got.UTC(), time.Unix(want2, 0).UTC())
					}
				}
			}
		}
	}
}

// TestWallClocksAreUsedOnceC124 walks occurrence after occurrence over two years: no wall clock appears twice, and none
// that the zone shows is left out.
func TestWallClocksAreUsedOnceC124(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Santiago"} {
		z := zone(t, name)
		for _, text := range []string{"30 1 * * *", "*/30 * * * *", "30 2 * * *", "15,45 0-3 * * SUN"} {
			e, err := ParseExpression(text)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			at := utc(t, "2025-12-31T12:00:00Z")
			end := at.AddDate(2, 0, 0)
			start := at
			for at.Before(end) {
				next, ok := e.Next(at, at, z)
				if !ok || !next.After(at) {
					t.Fatalf("%s %q: %v after %v", name, text, next, at)
				}
				wall := next.Format("2006-01-02T15:04")
				if seen[wall] {
					t.Fatalf("%s %q: wall clock %s is used twice", name, text, wall)
				}
				seen[wall] = true
				at = next
			}
			for u := start.Add(time.Minute); u.Before(end); u = u.Add(time.Minute) {
				if shown := u.In(z); e.MatchesWall(shown) && !seen[shown.Format("2006-01-02T15:04")] {
					t.Fatalf("%s %q: %s is never used", name, text, shown)
				}
			}
		}
	}
}

func randomExpression(r *rand.Rand) string {
	minute := []string{"*", "*/15", "30", "0,45", "59", "10-20/5"}[r.IntN(6)]
	hour := []string{"*", "1", "2", "0-3", "23", "*/2", "3,12"}[r.IntN(7)]
	day := []string{"* * *", "* * *", "* * SUN", "1-7 * MON", "*/2 * *", "* * 5-7"}[r.IntN(6)]
	return fmt.Sprintf("%s %s %s", minute, hour, day)
}
