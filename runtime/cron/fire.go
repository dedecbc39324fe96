package cron

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// ErrClaimLost means that somebody else may run the job now, or nobody.
var ErrClaimLost = errors.New("claim lost")

// view returns what decisions see now. running says which jobs this process has in flight.
func (s *Store) view(running func(string) bool) view {
	if running == nil {
		running = func(string) bool { return false }
	}
	return view{now: s.now(), settings: s.settings(), owner: s.options.Owner, running: running,
		holds: func(by string) bool { return s.live[by] }} // read under s.mu, which every change holds
}

// Claim acquires the right to run a job now, or fails with [ErrClaimLost] and the reason.
//
// Implements C-152, T-140.
func (s *Store) Claim(ctx context.Context, id string, q FireRequest) (Claim, error) {
	release, err := s.fence(ctx, id)
	if err != nil {
		return Claim{}, err
	}
	defer release()
	by := s.options.Owner.Text() + ":" + newAcquisition()
	var c Claim
	var lost string
	err = s.update(ctx, func(t *tx) error {
		v := s.view(func(string) bool { return false })
		lost = ""
		j, ok := t.get(id)
		if !ok {
			lost = "the job is gone"
			return nil
		}
		if lost = refuse(j, v, q); lost != "" {
			return nil
		}
		occurrence := occurrenceOf(j, v.now, q)
		if !occurrence.IsZero() && s.ledger.done(ctx, id, occurrence.Time) {
			lost = "the occurrence was run already"
			if j.PendingSlot = nil; q.Slot.IsZero() && j.Recurring() {
				j.NextRunAt = advanced(j, v, occurrence.Time)
			}
			t.put(j)
			return nil
		}
		c = Claim{By: by, Occurrence: occurrence, Prompt: j.Prompt, Manual: q.Manual || q.Force || (occurrence.IsZero() && !j.ManualRunAt.IsZero())}
		if c.Manual && j.ManualRunPrompt != "" {
			c.Prompt = j.ManualRunPrompt
		}
		c.Job = claimed(j, v, q, by)
		t.put(c.Job)
		s.live[by] = true // before it is saved, so that no scan sees a claim of ours that we do not hold
		return nil
	})
	if err == nil && lost != "" {
		err = fmt.Errorf("%w: %s", ErrClaimLost, lost)
	}
	if err != nil {
		s.forget(by)
		return Claim{}, err
	}
	return c, nil
}

func (s *Store) forget(by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, by)
}

func newAcquisition() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// Refresh is the heartbeat of a claim: it renews what the claim's holder still holds and nothing else. It does not take
// the job's fence, which the run may be holding.
//
// Implements C-157.
func (s *Store) Refresh(ctx context.Context, c Claim) error {
	return s.held(ctx, c, func(_ *tx, j Job) (Job, error) {
		j.FireClaim = &ClaimStamp{At: At(s.now()), By: c.By, AdoptedBy: j.FireClaim.AdoptedBy}
		if j.RunClaim != nil && s.options.Owner.Wrote(j.RunClaim.By) {
			j.RunClaim = &ClaimStamp{At: At(s.now()), By: j.RunClaim.By}
		}
		return j, nil
	})
}

// Finish ends a claim and records what the run did to the job. It fails with [ErrClaimLost], and changes nothing, when the
// claim is somebody else's by now or the job is gone.
//
// Implements the discard of C-157, T-150.
func (s *Store) Finish(ctx context.Context, c Claim, record func(Job, time.Time) Job) error {
	err := s.held(ctx, c, func(_ *tx, j Job) (Job, error) {
		j.FireClaim = nil
		if j.RunClaim != nil && s.options.Owner.Wrote(j.RunClaim.By) {
			j.RunClaim = nil
		}
		return record(j, s.now()), nil
	})
	s.forget(c.By)
	return err
}

// holds reports whether the claim is still the job's. A file that cannot be read proves nothing, and no.
func (s *Store) holds(c Claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.load() != nil {
		return false
	}
	e := s.cache.entries[c.Job.ID]
	return e != nil && e.job.FireClaim != nil && e.job.FireClaim.By == c.By
}

// held applies a change to a job whose fire claim is c.
func (s *Store) held(ctx context.Context, c Claim, change func(*tx, Job) (Job, error)) error {
	return s.update(ctx, func(t *tx) error {
		j, ok := t.get(c.Job.ID)
		if !ok {
			return fmt.Errorf("%w: the job is gone", ErrClaimLost)
		}
		if j.FireClaim == nil || j.FireClaim.By != c.By {
			return fmt.Errorf("%w: another run holds it", ErrClaimLost)
		}
		j, err := change(t, j)
		if err == nil {
			t.put(j)
		}
		return err
	})
}
