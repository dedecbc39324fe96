package storage

import (
	"context"
	"database/sql"
	"os"
	"time"

	"github.com/go-logr/logr"
)

const (
	// WALLimit is the size in bytes above which the write-ahead log is folded back.
	WALLimit = 4 << 20
	// walCheck is how often its size is looked at (one stat).
	walCheck = 500 * time.Millisecond
	// walWait bounds one checkpoint, so that a long reader delays it to the next look, not the writers.
	walWait = 5 * time.Second
)

// walKeeper bounds the write-ahead log. It only ever stats the file by name: opening and closing it in
// this process would drop SQLite's locks.
type walKeeper struct {
	path string
	db   *sql.DB
	log  logr.Logger
}

func (k *walKeeper) run(ctx context.Context) {
	tick := time.NewTicker(walCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if info, err := os.Stat(k.path + "-wal"); err != nil || info.Size() <= WALLimit {
			continue
		}
		if err := k.truncate(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "Could not fold back the write-ahead log, will try again", "database", k.path)
		}
	}
}

// truncate waits for readers and writers of the moment, then empties the log.
func (k *walKeeper) truncate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, walWait)
	defer cancel()
	var busy, frames, done int
	return k.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
}
