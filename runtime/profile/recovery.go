package profile

import (
	"context"
	"encoding/json"

	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/store"
)

// recoverDelegations takes up what an earlier life of the gateway left: what it ran gets an event that says what is
// known, what is too old is dropped, and what is owed is delivered. A store that owes nothing is read only.
//
// Implements S-210 and S-211.
func (r *Runtime) recoverDelegations(ctx context.Context, s *store.Store) {
	if err := r.recoverRows(ctx, s); err != nil && ctx.Err() == nil {
		r.o.Log.Error(err, "what delegated work has to tell was not taken up: it is looked for again later")
		r.sweepLater()
	}
}

func (r *Runtime) recoverRows(ctx context.Context, s *store.Store) error {
	unfinished, err := s.UnfinishedDelegations(ctx)
	if err != nil {
		return err
	}
	for _, row := range unfinished {
		if !r.ownerDead(row) {
			continue
		}
		var d delegation.Dispatch
		var so delegation.Recorded
		_ = json.Unmarshal(row.Task, &d) // what cannot be read is not there: the event says so
		_ = json.Unmarshal(row.Result, &so)
		// Nobody knows when it ended, so that the dispatch counts for its age.
		results := so.Complete(d.Tasks, d.Sessions)
		if len(results) == 0 {
			results = []delegation.Result{{Status: delegation.StatusUnknown, ExitReason: delegation.ExitOwnerDied, Error: "what was asked cannot be read any more"}}
		}
		if delegation.StatusOf(results) != delegation.StatusUnknown && len(so.Results) == len(d.Tasks) {
			row.CompletedAt = row.UpdatedAt // all had reported; only the event was missing
		}
		if err := finishRow(s, row, d, results); err != nil {
			return err
		}
	}
	pending, err := s.PendingDelegations(ctx)
	if err != nil || len(pending) == 0 {
		return err
	}
	dropped, err := s.DropOldDelegations(ctx, delegation.ReplayCap)
	if err != nil {
		return err
	}
	old := map[string]bool{}
	for _, id := range dropped {
		old[id] = true
		r.o.Log.Info("warning: the end of a delegation is too old to be delivered; hermes sessions show has it", "delegation", id, "cap", delegation.ReplayCap.String())
	}
	for _, row := range pending {
		if !old[row.ID] && r.ownerDead(row) {
			r.deliver(row.ID, row.ParentSessionID)
		}
	}
	return nil
}
