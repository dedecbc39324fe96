package cron

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"
)

const defaultInflightFloor = 30 * time.Minute

// stuckAfter is the age at which a flight that nothing works on is given up: twice the job's period, at least the floor.
//
// Implements the bound of C-176.
func stuckAfter(period, floor time.Duration) time.Duration {
	if floor <= 0 {
		floor = defaultInflightFloor
	}
	return max(2*period, floor)
}

// sweep gives jobs free that stay in flight although their run is over: it was cut off and its runner does not return, or
// the ledger has its end. Else one runner that hangs would keep its job from ever running again.
//
// Implements C-176, T-166.
func (c *Scheduler) sweep(ctx context.Context) {
	settings, now := c.store.settings(), c.store.now()
	for _, f := range c.flights.all() {
		age := now.Sub(f.since)
		if age < stuckAfter(0, settings.InflightFloor) {
			continue
		}
		job, err := c.store.Job(f.id)
		if err == nil {
			period, _ := job.Schedule.Period(now, settings.Zone)
			if age < stuckAfter(period, settings.InflightFloor) {
				continue
			}
		}
		ended := c.store.ledger.ended(ctx, f.execID)
		if !ended && !f.wasCut() {
			continue
		}
		f.interrupt() // what it says from now on counts for nothing
		c.flights.drop(f)
		f.cancel()
		f.place.Do(c.limit.release)
		c.options.Log.Info("WARNING: a job was in flight and nothing worked on it: given free", "job", f.id, "since", f.since)
		if err := c.store.noteRelease(f.firing, f.since, now); err != nil {
			c.options.Log.Error(err, "that is not noted", "job", f.id)
		}
		if ended || job.ID == "" || job.Repeat.Times != nil {
			continue
		}
		if err := c.store.markStuck(ctx, f.id); err != nil {
			c.options.Log.Error(err, "that is not recorded in the job", "job", f.id)
		}
	}
}

// markStuck writes the loss into a job.
func (s *Store) markStuck(ctx context.Context, id string) error {
	return s.update(ctx, func(t *tx) error {
		if j, ok := t.get(id); ok {
			j.LastError = "the run did not end when it was cut off, and the job was given free"
			t.put(j)
		}
		return nil
	})
}

// noteRelease appends to the record of forced releases, one JSON object a line.
func (s *Store) noteRelease(f firing, since, now time.Time) error {
	line, err := json.Marshal(map[string]any{"job": f.id, "slot": f.slot, "since": At(since), "released_at": At(now)})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(s.inDir("forced_releases.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}
