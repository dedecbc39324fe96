package cron

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestIndexFollowsTheFile lets two processes change one file in turn. After each change the index of both must answer as
// one that was built anew from the file.
func TestIndexFollowsTheFile(t *testing.T) {
	f := newFixture(t)
	stores := []*Store{f.Store, f.other(t, testOwner(1001))}
	r := rand.New(rand.NewPCG(5, 6))
	var ids []string
	for step := range 150 {
		s := stores[r.IntN(2)]
		switch pick := r.IntN(5); {
		case pick == 0 && len(ids) > 3:
			i := r.IntN(len(ids))
			if _, err := s.Remove(t.Context(), ids[i]); err != nil {
				t.Fatal(err)
			}
			ids = slices.Delete(ids, i, i+1)
		case pick < 3 || len(ids) == 0:
			job, err := s.Create(t.Context(), NewJob{Prompt: "p", Schedule: randomExpression(r), Paused: r.IntN(5) == 0})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, job.ID)
		default:
			if _, err := s.Trigger(t.Context(), ids[r.IntN(len(ids))], ""); err != nil {
				t.Fatal(err)
			}
		}
		at := f.clock.Now().Add(time.Duration(r.IntN(48)) * time.Hour)
		want := dueFromFile(t, f.other(t, testOwner(1002)), at)
		for i, store := range stores {
			if err := store.load(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, sortedDue(store, at)); diff != "" {
				t.Fatalf("step %d, process %d: %s", step, i, diff)
			}
			if diff := cmp.Diff(ids, store.cache.order); diff != "" {
				t.Fatalf("step %d, process %d: order: %s", step, i, diff)
			}
		}
		f.clock.Step(time.Duration(r.IntN(600)) * time.Second)
	}
}

func sortedDue(s *Store, at time.Time) []string {
	ids := s.cache.due(at, s.settingsForWake())
	slices.Sort(ids)
	return ids
}

// dueFromFile asks every job of a store that has only just read the file.
func dueFromFile(t *testing.T, s *Store, at time.Time) []string {
	t.Helper()
	jobs, err := s.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, j := range jobs {
		if !wakeAt(j, s.settingsForWake()).After(at) {
			ids = append(ids, j.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
