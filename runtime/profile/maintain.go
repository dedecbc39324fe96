package profile

import (
	"context"

	"hermes.dev/hermes/runtime/store"
)

// HeldError means that other processes have the store open, or may have: rewriting it under them would strand them.
type HeldError struct {
	// Database is the store's file.
	Database string
	Holders  []store.Holder
}

// Error names the file; store.Refusal words the whole.
func (e *HeldError) Error() string {
	return "other processes have " + e.Database + " open"
}

// Maintenance is what a maintenance of the store is to do.
type Maintenance struct {
	// DryRun only says what would be done.
	DryRun bool
	// Force goes on although other processes have the store open.
	Force bool
}

// Maintained is what a maintenance did, or would do.
type Maintained struct {
	// Holders are the processes that a forced maintenance went past.
	Holders []store.Holder
	// Before is the store before it.
	Before store.Stats
	Index  store.IndexState
	// Indexed counts messages that were put into the index.
	Indexed int64
	// Optimized is what was done; a dry run only says in Vacuumed whether the file would be rewritten.
	store.Optimized
}

// OptimizeStore merges the full-text indexes and rewrites the file when a quarter of it is unused.
//
// Implements S-140, with S-144 and S-145 in the store.
func (r *Runtime) OptimizeStore(ctx context.Context, m Maintenance) (Maintained, error) {
	done, err := r.maintain(ctx, m, func(s *store.Store, done *Maintained) (err error) {
		done.Optimized, err = s.Optimize(ctx, store.OptimizeOptions{})
		return err
	})
	done.Vacuumed = done.Vacuumed || m.DryRun && done.Before.VacuumPays()
	return done, err
}

// OptimizeStorage brings the full-text index to the layout of this program and rewrites the file.
//
// Implements S-140.
func (r *Runtime) OptimizeStorage(ctx context.Context, m Maintenance) (Maintained, error) {
	return r.maintain(ctx, m, func(s *store.Store, done *Maintained) (err error) {
		if done.Indexed, err = s.CompleteIndex(ctx); err != nil {
			return err
		}
		done.Optimized, err = s.Optimize(ctx, store.OptimizeOptions{AlwaysVacuum: true})
		return err
	})
}

// PruneSessions deletes conversations that ended long ago.
//
// Implements S-140, with S-101 and S-145 in the store.
func (r *Runtime) PruneSessions(ctx context.Context, o store.PruneOptions, force bool) (gone store.Pruned, done Maintained, err error) {
	if o.DryRun {
		err = r.withStore(ctx, func(s *store.Store) error {
			gone, err = s.Prune(ctx, o)
			return err
		})
		return gone, done, err
	}
	done, err = r.maintain(ctx, Maintenance{Force: force}, func(s *store.Store, _ *Maintained) (err error) {
		gone, err = s.Prune(ctx, o)
		return err
	})
	r.forget(gone.Sessions)
	return gone, done, err
}

// maintain runs a maintenance unless somebody else has the store open. This process is not somebody else: it holds
// the store's lock, and everything in it goes through the one handle. A dry run is never refused.
func (r *Runtime) maintain(ctx context.Context, m Maintenance, work func(*store.Store, *Maintained) error) (done Maintained, err error) {
	err = r.changing(ctx, func(s *store.Store) error {
		if done.Before, err = s.Stats(ctx); err != nil {
			return err
		}
		if done.Index, err = s.IndexState(ctx); err != nil || m.DryRun {
			return err
		}
		if done.Holders, err = store.ScanHolders(ctx, s.Path()); err != nil {
			return err
		}
		if len(done.Holders) > 0 && !m.Force {
			return &HeldError{Database: s.Path(), Holders: done.Holders}
		}
		return work(s, &done)
	})
	return done, err
}
