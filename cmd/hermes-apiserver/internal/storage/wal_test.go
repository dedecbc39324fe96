package storage

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	_ "modernc.org/sqlite"
)

// A reader that stays inside while others write keeps SQLite from resetting its log, and without another
// write nothing would ever fold it back.
func TestLogIsFoldedBackAfterALongReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	b, err := Open(t.Context(), path, testr.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test ends

	reader, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback() //nolint:errcheck // done below in the ordinary case
	var rows int
	if err := reader.QueryRow("SELECT count(*) FROM kine").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("v", 1<<20)
	for range 8 {
		if _, err := db.Exec("INSERT INTO kine(name, value) VALUES ('compact_rev_key_test', ?)", value); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("DELETE FROM kine WHERE name = 'compact_rev_key_test'"); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size() <= WALLimit {
		t.Fatalf("the log has %d bytes: this test does not make it grow", size())
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	tick, limit := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for size() > WALLimit {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the log still has %d bytes", size())
		}
	}
}
