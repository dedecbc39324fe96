package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
)

func directly(t testing.TB, s *Store, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.writer.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// checkIndex has FTS5 compare each index with itself.
func checkIndex(t testing.TB, s *Store) {
	t.Helper()
	directly(t, s, "INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')",
		"INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('integrity-check')")
}

// checkAgreement has FTS5 compare the complete index of words with the messages.
func checkAgreement(t testing.TB, s *Store) {
	t.Helper()
	directly(t, s, "INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)")
}

func indexed(t testing.TB, s *Store) (rows int) {
	t.Helper()
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM messages_fts_docsize").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestNewRowsAreIndexedInTheBackground(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	slept := make(chan time.Duration)
	s.indexer.pause = func(ctx context.Context, d time.Duration) error {
		select {
		case slept <- d:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ensure(t, s, "s")
	say(t, s, "s", "one")
	if n := indexed(t, s); n != 0 {
		t.Errorf("%d rows were indexed by the turn itself", n)
	}
	say(t, s, "s", "two") // not quiet yet
	for d := range slept {
		if d < ftsQuiet {
			break // between two steps: the first is done
		}
	}
	<-s.indexerDone(t, slept)
	if n := indexed(t, s); n != 2 {
		t.Errorf("%d rows are indexed, want 2", n)
	}
	if result, err := s.Search(ctx, SearchOptions{Query: "two"}); err != nil || len(result.Hits) != 1 {
		t.Errorf("%+v %v", result, err)
	}
}

// indexerDone lets the indexer's sleeps pass until it has ended.
func (s *Store) indexerDone(t *testing.T, slept <-chan time.Duration) <-chan struct{} {
	t.Helper()
	s.indexer.mu.Lock()
	done := s.indexer.done
	s.indexer.mu.Unlock()
	go func() {
		for {
			select {
			case <-slept:
			case <-done:
				return
			}
		}
	}()
	return done
}

func TestIndexFollowsChangesAndDeletes(t *testing.T) {
	s := still(t, storePath(t))
	ensure(t, s, "s")
	rows := say(t, s, "s", "first apple", "second apple", "third apple")
	indexAll(t, s)
	waiting := say(t, s, "s", "fourth apple", "fifth apple")
	directly(t, s,
		"UPDATE messages SET content = 'first pear' WHERE id = "+strconv.FormatInt(rows[0].ID, 10),
		"DELETE FROM messages WHERE id = "+strconv.FormatInt(rows[1].ID, 10),
		"UPDATE messages SET content = 'fourth pear' WHERE id = "+strconv.FormatInt(waiting[0].ID, 10),
		"DELETE FROM messages WHERE id = "+strconv.FormatInt(waiting[1].ID, 10),
		// The session becomes a delegated one: its rows are in the trigrams and must leave them all the same.
		"UPDATE sessions SET parent_session_id = 's', model_config = '{\"_delegate_from\":\"s\"}' WHERE id = 's'",
		"DELETE FROM messages WHERE id = "+strconv.FormatInt(rows[2].ID, 10))
	checkIndex(t, s)
	indexAll(t, s)
	checkIndex(t, s)
	checkAgreement(t, s)
	if got := found(t, s, SearchOptions{Query: "apple"}); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	if got := found(t, s, SearchOptions{Query: "pear"}); len(got) != 2 {
		t.Errorf("found %q", got)
	}
}

// A store without an index, or with one of another layout, gets one: in steps, newest rows first, and a search says
// what it did not see. A process that ends in between loses nothing.
func TestIndexIsBuiltInSteps(t *testing.T) {
	for name, spoil := range map[string][]string{
		"no index": {
			"DROP TABLE messages_fts", "DROP TABLE messages_fts_trigram", "DROP VIEW messages_fts_source",
			"DELETE FROM state_meta",
		},
		"an older layout": {"UPDATE state_meta SET value = '2' WHERE key = 'fts_storage_version'"},
		"another program's tables under the same version": {
			"DROP TABLE messages_fts", "CREATE VIRTUAL TABLE messages_fts USING fts5(content)",
			"CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content)",
			"CREATE TRIGGER theirs AFTER INSERT ON messages BEGIN INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END",
		},
		"a part is missing": {"DROP TRIGGER messages_fts_trigram_update"},
	} {
		t.Run(name, func(t *testing.T) {
			path := storePath(t)
			s := still(t, path)
			ensure(t, s, "s")
			texts := make([]string, 3*ftsStepRows)
			for i := range texts {
				texts[i] = fmt.Sprintf("apple %03d", i)
			}
			say(t, s, "s", texts...)
			indexAll(t, s)
			directly(t, s, spoil...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			s = still(t, path)
			ctx := context.Background()
			for _, step := range []struct{ rows, missing int }{{0, 192}, {64, 128}, {128, 64}} {
				if n := indexed(t, s); n != step.rows {
					t.Errorf("%d rows are indexed, want %d", n, step.rows)
				}
				result, err := s.Search(ctx, SearchOptions{Query: "apple", Limit: MaxSearchLimit})
				if err != nil || len(result.Hits) != step.rows || result.Unindexed != int64(step.missing) {
					t.Errorf("found %d, %d not indexed, %v; want %+v", len(result.Hits), result.Unindexed, err, step)
				}
				if _, left, err := s.indexStep(ctx); err != nil || !left {
					t.Fatalf("step: %t %v", left, err)
				}
			}
			say(t, s, "s", "apple new")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = still(t, path) // goes on, it does not begin again
			if n := indexed(t, s); n != 192 {
				t.Errorf("%d rows are indexed after opening again, want 192", n)
			}
			indexAll(t, s)
			checkIndex(t, s)
			checkAgreement(t, s)
			result, err := s.Search(ctx, SearchOptions{Query: "apple", Limit: MaxSearchLimit})
			if err != nil || len(result.Hits) != 193 || result.Unindexed != 0 {
				t.Errorf("found %d, %d not indexed, %v", len(result.Hits), result.Unindexed, err)
			}
			var leftovers int
			if err := s.readers.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name IN ('theirs', 'messages_fts_cjk', 'messages_fts_cjk_data')").Scan(&leftovers); err != nil || leftovers != 0 {
				t.Errorf("%d leftovers, %v", leftovers, err)
			}
		})
	}
}

// Damage to the index never stops a write, and search goes on (bucket fts_index of S-120).
func TestS120IndexDamageLosesNoRow(t *testing.T) {
	for name, damage := range map[string][]string{
		"a record of the index is garbage": {"UPDATE messages_fts_data SET block = x'00ff00ff00ff' WHERE id > 10"},
		"all records are garbage":          {"UPDATE messages_fts_data SET block = x'ffffffffffffffff'"},
		"the trigrams are garbage":         {"UPDATE messages_fts_trigram_data SET block = x'ffffffffffffffff'"},
		"records are missing":              {"DELETE FROM messages_fts_data"},
		"the index cannot be constructed":  {"DROP TABLE messages_fts_config"},
		"a table of it is missing":         {"DROP TABLE messages_fts_data"},
		"its tokenizer is unknown": {
			"PRAGMA writable_schema = ON",
			"UPDATE sqlite_master SET sql = replace(sql, 'unicode61 remove_diacritics 2', 'theirs') WHERE name = 'messages_fts'",
			"PRAGMA writable_schema = RESET",
		},
		"a trigger of it fails": {
			"CREATE TRIGGER theirs AFTER INSERT ON messages BEGIN INSERT INTO messages_fts_cjk(rowid, content) VALUES (new.id, new.content); END",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			path := storePath(t)
			s := still(t, path)
			ensure(t, s, "s")
			rows := say(t, s, "s", "apple one", "apple two")
			indexAll(t, s)
			directly(t, s, damage...)
			s.readers.SetMaxIdleConns(0)

			say(t, s, "s", "apple three")
			exec := func(statement string) {
				err := s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, statement, rows[0].ID)
					return err
				})
				if err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			exec("UPDATE messages SET content = 'apple first' WHERE id = ?")
			exec("DELETE FROM messages WHERE id = ?")
			if _, _, err := s.indexStep(ctx); err != nil {
				t.Fatalf("index: %v", err)
			}
			if got := found(t, s, SearchOptions{Query: "apple"}); len(got) == 0 {
				t.Errorf("found nothing")
			}
			indexAll(t, s)
			checkIndex(t, s)
			checkAgreement(t, s)
			if got := found(t, s, SearchOptions{Query: "apple"}); len(got) != 2 {
				t.Errorf("found %q", got)
			}
			if messages, err := s.Messages(ctx, "s"); err != nil || len(messages) != 2 {
				t.Errorf("%d messages, %v", len(messages), err)
			}
			if err := s.refusal(); err != nil {
				t.Errorf("the store was quarantined: %v", err)
			}
		})
	}
}

func TestSearchRepairsADamagedIndex(t *testing.T) {
	for _, damage := range []string{
		"UPDATE messages_fts_data SET block = x'ffffffffffffffff'", "DROP TABLE messages_fts_config", "DELETE FROM messages_fts_trigram_data",
	} {
		s := still(t, storePath(t))
		ensure(t, s, "s")
		say(t, s, "s", "apple one", "apple two")
		indexAll(t, s)
		directly(t, s, damage)
		for range 2 {
			if got := found(t, s, SearchOptions{Query: "apple", Limit: 5}); len(got) != 2 {
				t.Errorf("%s: found %q", damage, got)
			}
			indexAll(t, s)
		}
		checkIndex(t, s)
	}
}

// A read-only store searches with the index if there is one and without it if there is none.
func TestSearchReadOnly(t *testing.T) {
	path := storePath(t)
	s := still(t, path)
	ensure(t, s, "s")
	say(t, s, "s", "apple one")
	indexAll(t, s)
	say(t, s, "s", "apple two")
	for _, drop := range []bool{false, true} {
		if drop {
			s = still(t, path)
			directly(t, s, "DROP TABLE messages_fts")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		reader := open(t, path, Options{ReadOnly: true, Log: testr.New(t)})
		if got := found(t, reader, SearchOptions{Query: "apple"}); len(got) != 2 {
			t.Errorf("without index %t: found %q", drop, got)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A search that reads messages stops after the newest ones and says so.
func TestSearchIsBounded(t *testing.T) {
	s := still(t, storePath(t))
	ensure(t, s, "s")
	directly(t, s, `INSERT INTO messages (session_id, role, content, timestamp)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+strconv.Itoa(scanRows+5)+`)
		SELECT 's', 'user', CASE WHEN i <= 10 THEN 'ab' ELSE '-' END, i FROM n`,
		"UPDATE state_meta SET value = (SELECT MAX(id) FROM messages) WHERE key = 'fts_indexed_through'")
	result, err := s.Search(context.Background(), SearchOptions{Query: "ab", Substring: true})
	if err != nil || !result.Bounded || len(result.Hits) != 5 {
		t.Errorf("found %d, bounded %t, %v", len(result.Hits), result.Bounded, err)
	}
}

func TestIndexDamageIsToldFromOtherErrors(t *testing.T) {
	s := still(t, storePath(t))
	ensure(t, s, "s")
	_, err := s.writer.Exec("INSERT INTO messages_fts_nothing VALUES (1)")
	if !indexDamage(err) {
		t.Errorf("%v is damage of the index", err)
	}
	_, err = s.writer.Exec("INSERT INTO sessions (id) VALUES ('messages_fts')")
	if err == nil || indexDamage(err) {
		t.Errorf("%v is not damage of the index", err)
	}
	if indexDamage(fmt.Errorf("%w: messages_fts", context.Canceled)) || indexDamage(nil) {
		t.Error("an error without a code is not damage of the index")
	}
	if strings.Contains(fmt.Sprint(s.refusal()), "messages_fts") {
		t.Error("quarantined")
	}
}

// indexSteps is a helper process that builds the index and says after each step that it was durable.
func indexSteps(ctx context.Context, s *Store) int {
	s.stopIndexing()
	for {
		_, left, err := s.indexStep(ctx)
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		if !left {
			return 0
		}
		fmt.Println("step")
	}
}

// A process that is killed while it builds the index leaves one that goes on where it was and agrees with the rows.
func TestIndexSurvivesKill(t *testing.T) {
	path := storePath(t)
	s := still(t, path)
	ensure(t, s, "s")
	texts := make([]string, 40*ftsStepRows)
	for i := range texts {
		texts[i] = fmt.Sprintf("apple %d", i)
	}
	say(t, s, "s", texts...)
	directly(t, s, "UPDATE state_meta SET value = '0' WHERE key = 'fts_storage_version'") // an older layout
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := 0
	for range 3 {
		c := startChild(t, "index", path)
		for range 3 {
			if !c.lines.Scan() || c.lines.Text() != "step" {
				t.Fatalf("helper said %q", c.lines.Text())
			}
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait() // killed

		s = still(t, path)
		checkIndex(t, s)
		n := indexed(t, s)
		if n < before+3*ftsStepRows {
			t.Errorf("%d rows are indexed after the kill, want those of before (%d) and of three steps", n, before)
		}
		before = n
		if n == len(texts) {
			t.Fatal("the helper was done before it was killed: give it more rows")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = still(t, path)
	indexAll(t, s)
	checkIndex(t, s)
	checkAgreement(t, s)
}
