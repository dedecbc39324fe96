package cron

import (
	"context"
	"slices"
	"time"
)

// scanRequest says what a scan may hand out.
type scanRequest struct {
	running func(id string) bool
	// manualOnly hands out only what a person asked for: scheduled work is paused.
	manualOnly bool
	// catchUps is how many missed occurrences may be handed out.
	catchUps int
}

// scanned is what a scan did, after it is saved.
type scanned struct {
	fire []firing
	// skipped are occurrences passed over for good; diagnostics go to the outputs of their jobs.
	skipped     map[string]Dispatch
	diagnostics map[string]string
	// heldBack counts missed occurrences that wait for a later tick.
	heldBack int
}

// scan looks at the jobs that need a look and saves what it decides before anything is handed out: a crash afterwards
// loses no occurrence and repeats none. With nothing to do it costs one stat of the file and a look at the top of the
// index. If the decision cannot be saved, nothing is handed out.
//
// Implements C-137, C-155, C-159 and the due scan of C-171.
func (s *Store) scan(ctx context.Context, q scanRequest) (scanned, error) {
	idle, err := s.idle(q)
	if err != nil || idle {
		return scanned{}, err
	}
	var out scanned
	err = s.update(ctx, func(t *tx) error {
		out = scanned{skipped: map[string]Dispatch{}, diagnostics: map[string]string{}}
		v := s.view(q.running)
		var verdicts []verdict
		for _, id := range t.cache.due(v.now, s.settingsForWake()) {
			if j, ok := t.get(id); ok {
				verdicts = append(verdicts, evaluate(j, v))
			}
		}
		for _, r := range admitted(verdicts, q, &out) {
			out.apply(t, r)
		}
		return nil
	})
	if err != nil {
		return scanned{}, err
	}
	return out, nil
}

// idle reports whether no job needs anything now. It takes no lock of the file, which nothing is written to.
func (s *Store) idle(q scanRequest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return false, err
	}
	v := s.view(q.running)
	for _, id := range s.cache.due(v.now, s.settingsForWake()) {
		r := evaluate(s.cache.entries[id].job.Clone(), v)
		waits := q.manualOnly && r.scheduled()
		if !waits && (r.remove || r.changed || r.fire != nil) {
			return false, nil
		}
	}
	return true, nil
}

// admitted orders verdicts by the time they were due and leaves out what must wait: scheduled work during a pause, and
// missed occurrences beyond what may start now. What waits stays as it is stored, so nothing is lost with this process.
func admitted(verdicts []verdict, q scanRequest, out *scanned) []verdict {
	slices.SortStableFunc(verdicts, func(a, b verdict) int {
		return dueSince(a).Compare(dueSince(b))
	})
	var kept []verdict
	caughtUp := 0
	for _, r := range verdicts {
		switch {
		case q.manualOnly && r.scheduled():
			continue
		case r.fire != nil && r.fire.kind == CatchUp:
			if caughtUp++; caughtUp > q.catchUps {
				out.heldBack++
				continue
			}
		}
		kept = append(kept, r)
	}
	return kept
}

func dueSince(r verdict) time.Time {
	if r.fire == nil {
		return time.Time{}
	}
	return r.fire.slot.Time
}

func (out *scanned) apply(t *tx, r verdict) {
	id := r.job.ID
	if r.diagnostic != "" {
		out.diagnostics[id] = r.diagnostic
	}
	if r.skipped != nil {
		out.skipped[id] = *r.skipped
	}
	if r.fire != nil {
		out.fire = append(out.fire, *r.fire)
	}
	switch {
	case r.remove:
		t.remove(id)
	case r.changed:
		t.put(r.job)
	}
}

// release takes back what a scan stamped on a one-shot that is not run after all, so that it stays due.
func (s *Store) release(ctx context.Context, f firing) error {
	return s.update(ctx, func(t *tx) error {
		j, ok := t.get(f.id)
		if ok && !j.Recurring() && j.RunClaim != nil && s.options.Owner.Wrote(j.RunClaim.By) && j.FireClaim == nil {
			j.RunClaim = nil
			t.put(j)
		}
		return nil
	})
}

// recordFireError notes that a run could not be started at all.
func (s *Store) recordFireError(ctx context.Context, id, detail string) error {
	return s.update(ctx, func(t *tx) error {
		if j, ok := t.get(id); ok {
			runes := []rune(detail)
			j.LastFireError = &FireError{At: At(s.now()), Detail: string(runes[:min(len(runes), 500)])}
			t.put(j)
		}
		return nil
	})
}
