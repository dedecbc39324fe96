package store

import (
	"context"

	"hermes.dev/hermes/runtime/store/db"
)

// probeKey is a row of state_meta that exists only inside the transaction of a probe.
const probeKey = "write_probe"

// Probe finds out whether the store takes writes now: it commits a transaction that touches pages and leaves nothing
// behind. It waits for at most ActivityBudget. Errors are those of any write.
func (s *Store) Probe(ctx context.Context) error {
	return s.write(ctx, ActivityBudget, func(ctx context.Context, q *db.Queries) error {
		if err := q.SetPendingSteer(ctx, db.SetPendingSteerParams{Key: probeKey, Value: nullText(probeKey)}); err != nil {
			return err
		}
		return q.DropPendingSteer(ctx, probeKey)
	})
}
