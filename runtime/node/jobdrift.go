package node

import (
	"context"
	"time"
)

// driftInterval is how often the job stores of the open profiles are looked at: a stat each.
const driftInterval = 2 * time.Second

// driftWatch starts a pass over the Schedules of each profile whose job store was changed by anybody since the last one:
// a run that began or ended, a program that edited the file, a person who removed it.
type driftWatch struct{ *scheduleAgent }

// Start looks until ctx ends. Implements manager.Runnable.
func (d driftWatch) Start(ctx context.Context) error {
	tick := time.NewTicker(driftInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, profile := range d.drifted() {
				d.look(ctx, profile)
			}
		}
	}
}

// drifted lists the profiles whose store is at another revision than their last pass began with.
func (d driftWatch) drifted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for profile, seen := range d.seen {
		store, ok := d.Profiles.Jobs(profile)
		if !ok {
			continue
		}
		// One that cannot be looked at is a change too: the pass says why.
		if now, err := store.Revision(); err != nil || now != seen {
			out = append(out, profile)
		}
	}
	return out
}
