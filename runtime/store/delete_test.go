package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/store/db"
)

func TestLineages(t *testing.T) {
	row := func(id, parent, reason, config string) db.PruneRowsRow {
		return db.PruneRowsRow{ID: id, Parent: parent, EndReason: reason, ModelConfig: config}
	}
	cases := []struct {
		id   string
		rows []db.PruneRowsRow
		want string
	}{
		{"S-103 alone", []db.PruneRowsRow{row("a", "", "idle", "")}, "a"},
		{"S-103 rotation", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "compression", "{}"), row("c", "b", "", "")}, "a,b,c"},
		{"S-103 ids out of order", []db.PruneRowsRow{row("a", "z", "", ""), row("z", "", "compression", "")}, "a,z"},
		{"S-103 parent ended otherwise", []db.PruneRowsRow{row("a", "", "idle", ""), row("b", "a", "", "")}, "a b"},
		{"S-103 branch", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "", `{"_branched_from":"a"}`)}, "a b"},
		{"S-103 delegate", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "", `{"_delegate_from":"a"}`)}, "a b"},
		{"S-103 reset", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "", `{"_reset_from":"a"}`)}, "a b"},
		{"S-103 inherited marker", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "", `{"_branched_from":"x"}`)}, "a,b"},
		{"S-103 unreadable settings", []db.PruneRowsRow{row("a", "", "compression", ""), row("b", "a", "", `{_from`)}, "a,b"},
		{"S-103 parent is gone", []db.PruneRowsRow{row("b", "a", "", "")}, "b"},
		{"S-103 long circle ends", []db.PruneRowsRow{row("a", "b", "compression", ""), row("b", "a", "compression", ""), row("c", "a", "", "")}, "a,b,c"},
		{"S-103 circle ends", []db.PruneRowsRow{row("a", "a", "compression", "")}, "a"},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			var got []string
			for _, l := range lineages(c.rows) {
				got = append(got, strings.Join(l.ids(), ","))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestPrunable(t *testing.T) {
	cutoff := testStart
	old, fresh := epoch(cutoff)-1, epoch(cutoff)
	cases := []struct {
		id     string
		l      lineage
		source string
		want   bool
	}{
		{"S-145 ended and old", lineage{{EndedAt: old, LastUsed: old}}, "", true},
		{"S-145 not ended", lineage{{LastUsed: old}}, "", false},
		{"S-145 at the limit", lineage{{EndedAt: old, LastUsed: fresh}}, "", false},
		{"S-145 pinned", lineage{{EndedAt: old, LastUsed: old, Pinned: 1}}, "", false},
		{"S-145 goes on elsewhere", lineage{{EndedAt: old, LastUsed: old}, {LastUsed: fresh}}, "", false},
		{"S-145 source", lineage{{EndedAt: old, LastUsed: old, Source: "cron"}}, "cron", true},
		{"S-145 other source", lineage{{EndedAt: old, LastUsed: old, Source: "cli"}}, "cron", false},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			if got := c.l.prunable(cutoff, c.source); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// runSQL runs statements that no method of the store makes yet.
func runSQL(t *testing.T, s *Store, statements ...string) {
	t.Helper()
	err := s.transact(context.Background(), RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rowsIn(t *testing.T, s *Store, from string) (n int) {
	t.Helper()
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM " + from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPruneLeavesNothingButGenerations: T-234, S-101, S-145, with every table that names a session.
func TestPruneLeavesNothingButGenerations(t *testing.T) {
	ctx := context.Background()
	clock := clocktesting.NewFakePassiveClock(testStart)
	s := open(t, storePath(t), Options{Clock: clock})
	for _, session := range []Session{
		{ID: "old", Source: "peer", SessionKey: "peer:x", SystemPrompt: "mine"},
		{ID: "next", Source: "peer", SessionKey: "peer:x", ParentID: "old"},
		{ID: "branch", Source: "cli", ParentID: "next"},
		{ID: "live", Source: "cli", SessionKey: "cli:y", SystemPrompt: "shared"},
	} {
		if _, _, err := s.EnsureSession(ctx, session); err != nil {
			t.Fatal(err)
		}
		say(t, s, session.ID, "a", "b")
	}
	err := errors.Join(s.AddUsage(ctx, "old", Usage{Model: "m", APICalls: 1}),
		s.EndSession(ctx, "old", "compression"), s.EndSession(ctx, "next", "idle"))
	if err != nil {
		t.Fatal(err)
	}
	runSQL(t, s,
		"INSERT INTO conversation_generations VALUES ('peer', 'peer:x', 7)",
		"INSERT INTO gateway_routing VALUES ('', 'peer:x', '{}', 1), ('', 'cli:y', '{}', 1)",
		"INSERT INTO gateway_hygiene_state VALUES ('peer:x', 1), ('cli:y', 1)",
		"INSERT INTO compression_locks VALUES ('old', 'h', 1, 2)",
		"INSERT INTO session_turn_leases VALUES ('old', 'h', 1, 2)")

	if got, err := s.Prune(ctx, PruneOptions{}); err != nil || len(got.Sessions) != 0 {
		t.Fatalf("pruned before its time: %+v, %v", got, err)
	}
	clock.SetTime(testStart.Add(DefaultPruneAge + time.Second))
	if got, err := s.Prune(ctx, PruneOptions{Source: "cli"}); err != nil || len(got.Sessions) != 0 {
		t.Fatalf("pruned another source: %+v, %v", got, err)
	}
	want := Pruned{Sessions: []string{"next", "old"}, Messages: 4}
	if got, err := s.Prune(ctx, PruneOptions{DryRun: true}); err != nil || !reflect.DeepEqual(got, want) || rowsIn(t, s, "sessions") != 4 {
		t.Fatalf("dry run: %+v, %v", got, err)
	}
	if got, err := s.Prune(ctx, PruneOptions{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("prune: %+v, %v", got, err)
	}
	for from, want := range map[string]int{
		"sessions": 2, "messages": 4, "session_model_usage": 0, "compression_locks": 0, "session_turn_leases": 0,
		"gateway_routing": 1, "gateway_hygiene_state": 1, "system_prompts": 1,
		"conversation_generations WHERE generation = 7":       1,
		"sessions WHERE parent_session_id IS NOT NULL":        0,
		"pragma_foreign_key_check('sessions')":                0,
		"system_prompts WHERE prompt = 'shared'":              1,
		"messages WHERE session_id NOT IN ('branch', 'live')": 0,
	} {
		if got := rowsIn(t, s, from); got != want {
			t.Errorf("%s: %d rows, want %d", from, got, want)
		}
	}
	if _, err := s.Prune(ctx, PruneOptions{OlderThan: -1}); err == nil {
		t.Error("an age in the future was taken")
	}
}

// TestPruneManySessions: S-106, with one conversation longer than a chunk and parents in other chunks than children.
func TestPruneManySessions(t *testing.T) {
	ctx := context.Background()
	clock := clocktesting.NewFakePassiveClock(testStart)
	s := open(t, storePath(t), Options{Clock: clock})
	// Ids fall as the conversation goes on, so that every parent sorts after its child.
	runSQL(t, s,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 2499) "+
			"INSERT INTO sessions (id, source, started_at, ended_at, end_reason) SELECT printf('s%05d', i), 'cli', 1, 2, 'compression' FROM n",
		"UPDATE sessions SET parent_session_id = printf('s%05d', substr(id, 2) + 1) WHERE id < 's02000'",
		"INSERT INTO messages (session_id, role, timestamp) SELECT id, 'user', 1 FROM sessions")
	got, err := s.Prune(ctx, PruneOptions{OlderThan: time.Hour})
	if err != nil || len(got.Sessions) != 2500 || got.Messages != 2500 || rowsIn(t, s, "sessions")+rowsIn(t, s, "messages") != 0 {
		t.Errorf("%d sessions, %d messages, %v", len(got.Sessions), got.Messages, err)
	}
}

func TestBatches(t *testing.T) {
	long := make(lineage, maxIDs+1)
	talk := lineage{{MessageCount: maxDeletedMessages}}
	all := []lineage{{{}}, long, {{}}, {{}}, talk, talk}
	var sizes []int
	for batch := range batches(all) {
		n := 0
		for _, l := range batch {
			n += len(l)
		}
		sizes = append(sizes, n)
	}
	if !slices.Equal(sizes, []int{1, maxIDs + 1, 3, 1}) {
		t.Errorf("S-106: batches of %v", sizes)
	}
}

// TestPruneRechecks: S-145. A session that was reopened after it was chosen stays.
func TestPruneRechecks(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	if err := s.EndSession(ctx, "s", "idle"); err != nil {
		t.Fatal(err)
	}
	chosen, err := s.lineages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReopenSession(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	got, err := s.deleteLineages(ctx, chosen, testStart.Add(time.Hour))
	if err != nil || len(got.Sessions) != 0 || rowsIn(t, s, "sessions") != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestDeleteSession: S-101, S-103.
func TestDeleteSession(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "a")
	if err := s.EndSession(ctx, "a", "compression"); err != nil {
		t.Fatal(err)
	}
	for id, config := range map[string]string{"b": "", "fork": `{"_branched_from":"a"}`} {
		if _, _, err := s.EnsureSession(ctx, Session{ID: id, Source: "cli", ParentID: "a", ModelConfig: config}); err != nil {
			t.Fatal(err)
		}
	}
	say(t, s, "a", "x")
	say(t, s, "fork", "y")
	for _, id := range []string{"b", "fork"} {
		if err := s.SetPendingSteer(ctx, id, "and hurry"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.DeleteSession(ctx, "b")
	if err != nil || !reflect.DeepEqual(got, Pruned{Sessions: []string{"a", "b"}, Messages: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	if fork, ok, err := s.Session(ctx, "fork"); !ok || err != nil || fork.ParentID != "" || fork.MessageCount != 1 {
		t.Errorf("the branch: %+v, %v", fork, err)
	}
	for id, want := range map[string]string{"b": "", "fork": "and hurry"} {
		if said, err := s.PendingSteer(ctx, id); err != nil || said != want {
			t.Errorf("what waits to be said in %s: %q, %v", id, said, err)
		}
	}
	if _, err := s.DeleteSession(ctx, "b"); !errors.Is(err, ErrNoSession) {
		t.Errorf("again: %v", err)
	}
}
