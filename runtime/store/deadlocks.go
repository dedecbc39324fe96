package store

import (
	"context"
	"database/sql"

	"hermes.dev/hermes/runtime/store/db"
)

// dropDeadLocks drops the compaction locks and turn leases that an earlier writer left. There is one writer at a time
// and it is this store now, so whoever took them is gone. Without any, which is nearly always, nothing is written.
func (s *Store) dropDeadLocks(ctx context.Context) error {
	var left int64
	err := s.patiently(ctx, OpenBudget, func() (err error) {
		left, err = db.New(s.writer).CountLocks(ctx)
		return err
	})
	if err != nil || left == 0 {
		return err
	}
	s.log.Info("dropping session locks of a process that is gone", "locks", left)
	return s.transact(ctx, OpenBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		q := db.New(tx)
		if err := q.DropCompressionLocks(ctx); err != nil {
			return err
		}
		return q.DropTurnLeases(ctx)
	})
}
