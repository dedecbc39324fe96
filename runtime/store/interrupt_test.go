package store

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// TestInterruptedWriteKeepsTheConnection: S-130, S-133. A statement that is cancelled while it runs must not cost the
// write connection: with it the last connection would close, delete the log and mint another.
func TestInterruptedWriteKeepsTheConnection(t *testing.T) {
	const endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) SELECT COUNT(*) FROM n"
	for name, run := range map[string]func(s *Store, ctx context.Context) error{
		"in a transaction": func(s *Store, ctx context.Context) error {
			return s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
				var n int
				return tx.QueryRowContext(ctx, endless).Scan(&n)
			})
		},
		"before a transaction": func(s *Store, ctx context.Context) error {
			return s.transact(ctx, RoutineBudget, func() error {
				var n int
				return s.writer.QueryRowContext(ctx, endless).Scan(&n)
			}, nil)
		},
		"outside a transaction": func(s *Store, ctx context.Context) error {
			return s.exclusively(ctx, func(ctx context.Context) error {
				var n int
				return s.writer.QueryRowContext(ctx, endless).Scan(&n)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, storePath(t), testOptions(t))
			ensure(t, s, "s")
			s.readers.SetMaxIdleConns(0) // as after a while without readers: the write connection is the only one
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := run(s, ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", err)
			}
			if err := s.guard.checkFiles(); err != nil {
				t.Error(err)
			}
			say(t, s, "s", "after")
		})
	}
}
