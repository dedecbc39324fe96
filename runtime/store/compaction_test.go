package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func ids(messages []Message) []int64 {
	out := make([]int64, len(messages))
	for i, m := range messages {
		out[i] = m.ID
	}
	return out
}

// lockFor takes the lock or fails.
func lockFor(t testing.TB, s *Store, session, holder string) {
	t.Helper()
	held, _, err := s.LockCompaction(context.Background(), session, holder, time.Minute)
	if err != nil || !held {
		t.Fatalf("lock for %s: %v, %v", holder, held, err)
	}
}

// TestS102InPlaceCompaction: the id stays, superseded rows stay readable in the file as active 0 and compacted 1, and
// retained ones, with everything in them, are new rows of the same text.
func TestS102InPlaceCompaction(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	n := int64(7)
	kept := Message{
		Role: "assistant", Content: "kept", APIContent: "exact", ToolCalls: json.RawMessage(`[{"id":"1"}]`), TokenCount: &n,
		FinishReason: "stop", Reasoning: "r", ReasoningContent: "rc", ReasoningDetails: json.RawMessage(`[1]`),
		CodexReasoningItems: json.RawMessage(`[2]`), CodexMessageItems: json.RawMessage(`[3]`), PlatformMessageID: "p",
		DisplayKind: "k", DisplayMetadata: json.RawMessage(`{}`), DisplayIdentity: []byte{1}, DisplayOrder: &n, Observed: true,
		Timestamp: testStart.Add(-time.Hour),
	}
	before, err := s.Append(ctx, "s", Message{Role: "user", Content: "same"}, Message{Role: "assistant", Content: "old"}, kept)
	if err != nil {
		t.Fatal(err)
	}
	lockFor(t, s, "s", "h")
	state := CompactionState{
		CooldownUntil: testStart.Add(time.Minute), Failure: "because", FallbackStreak: 1, IneffectiveCount: 2,
		RecoveryDeadline: testStart.Add(time.Hour), OverloadStreak: 3,
	}
	stored, err := s.Compact(ctx, Compaction{SessionID: "s", Holder: "h", From: ids(before), State: state, Rows: []Message{
		before[0], {Role: "user", Content: "short", CompressedSummary: true}, before[2],
	}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Messages(ctx, "s")
	if err != nil || !reflect.DeepEqual(after, stored) {
		t.Fatalf("active rows %+v, want %+v, %v", after, stored, err)
	}
	if after[0].Content != "same" || !after[1].CompressedSummary || after[0].ID <= before[2].ID {
		t.Errorf("%+v", after)
	}
	want := before[2]
	want.ID = after[2].ID
	if !reflect.DeepEqual(after[2], want) {
		t.Errorf("a retained row changed:\n%+v\n%+v", after[2], want)
	}
	var superseded, same int
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM messages WHERE session_id = 's' AND active = 0 AND compacted = 1").Scan(&superseded); err != nil || superseded != 3 {
		t.Errorf("%d superseded rows, %v", superseded, err)
	}
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM messages WHERE content = 'same'").Scan(&same); err != nil || same != 2 {
		t.Errorf("%d rows of the same text, want both generations, %v", same, err)
	}
	if got, err := s.CompactionState(ctx, "s"); err != nil || !reflect.DeepEqual(got, state) {
		t.Errorf("state %+v, want %+v, %v", got, state, err)
	}
	if session, _, _ := s.Session(ctx, "s"); session.MessageCount != 3 || !session.EndedAt.IsZero() {
		t.Errorf("%+v", session)
	}
}

func TestCompactionRefusals(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	rows := say(t, s, "s", "1", "2")
	lockFor(t, s, "s", "h")
	good := Compaction{SessionID: "s", Holder: "h", From: ids(rows), Rows: []Message{{Role: "user", Content: "x"}}}
	for name, c := range map[string]struct {
		change func(*Compaction)
		want   error
	}{
		"S-102 rows came meanwhile": {func(c *Compaction) { c.From = c.From[:1] }, ErrStale},
		"S-102 rows went meanwhile": {func(c *Compaction) { c.From = append([]int64{0}, c.From...) }, ErrStale},
		"lock of another":           {func(c *Compaction) { c.Holder = "other" }, ErrCompression},
		"no lock at all":            {func(c *Compaction) { c.SessionID = "t" }, ErrCompression},
		"nothing left":              {func(c *Compaction) { c.Rows = nil }, nil},
		"a bad row":                 {func(c *Compaction) { c.Rows = []Message{{Role: ""}} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			c.change(&bad)
			_, err := s.Compact(ctx, bad)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after, _ := s.Messages(ctx, "s"); !reflect.DeepEqual(after, rows) {
				t.Errorf("rows changed: %+v", after)
			}
		})
	}
	if _, err := s.CompactionState(ctx, "none"); !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
	if err := s.SetCompactionState(ctx, "none", CompactionState{}); !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
	if err := s.SetCompactionState(ctx, "s", CompactionState{FallbackStreak: 4}); err != nil {
		t.Error(err)
	}
	if got, err := s.CompactionState(ctx, "s"); err != nil || got.FallbackStreak != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCompactionLock: one holder at a time, until it lets go or its time is over.
func TestCompactionLock(t *testing.T) {
	ctx := context.Background()
	clock := clocktesting.NewFakePassiveClock(testStart)
	s := open(t, storePath(t), Options{Clock: clock})
	lock := func(holder string, want bool, until time.Time) {
		t.Helper()
		held, got, err := s.LockCompaction(ctx, "s", holder, time.Minute)
		if err != nil || held != want || !got.Equal(until) {
			t.Errorf("%s: held %v until %s, want %v until %s, %v", holder, held, got, want, until, err)
		}
	}
	lock("a", true, testStart.Add(time.Minute))
	lock("b", false, testStart.Add(time.Minute))
	clock.SetTime(testStart.Add(30 * time.Second))
	lock("a", true, testStart.Add(90*time.Second)) // extended
	clock.SetTime(testStart.Add(90*time.Second - time.Millisecond))
	lock("b", false, testStart.Add(90*time.Second))
	clock.SetTime(testStart.Add(90 * time.Second))
	lock("b", true, testStart.Add(150*time.Second)) // its holder is gone
	if err := s.UnlockCompaction(ctx, "s", "a"); err != nil {
		t.Error(err)
	}
	lock("c", false, testStart.Add(150*time.Second)) // a late unlock takes nothing from the new holder
	if err := s.UnlockCompaction(ctx, "s", "b"); err != nil {
		t.Error(err)
	}
	lock("c", true, testStart.Add(150*time.Second))
}

// compactForever compacts in a loop and prints each generation it has stored.
func compactForever(ctx context.Context, s *Store) int {
	for {
		rows, err := s.Messages(ctx, "crash")
		if err != nil {
			return 1
		}
		generation := 0
		if len(rows) > 0 {
			generation, _ = strconv.Atoi(rows[0].Content)
		} else if rows, err = s.Append(ctx, "crash", Message{Role: "user", Content: "0"}); err != nil {
			return 1
		}
		if held, _, err := s.LockCompaction(ctx, "crash", "child", time.Hour); err != nil || !held {
			return 1
		}
		next := make([]Message, 20)
		for i := range next {
			next[i] = Message{Role: "user", Content: strconv.Itoa(generation + 1), CompressedSummary: true}
		}
		if _, err := s.Compact(ctx, Compaction{SessionID: "crash", Holder: "child", From: ids(rows), Rows: next}); err != nil {
			fmt.Println("error", err)
			return 1
		}
		if _, err := os.Stdout.WriteString("ack " + strconv.Itoa(generation+1) + "\n"); err != nil {
			return 1
		}
	}
}

// TestS102KillLeavesOldOrNew kills a process that compacts at random moments: the session is whole at either side.
func TestS102KillLeavesOldOrNew(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	acked := 0
	for round := range 20 {
		c := startChild(t, "compact", path)
		if round%2 == 1 {
			timer := time.AfterFunc(time.Duration(rand.IntN(15_000))*time.Microsecond, func() { _ = c.cmd.Process.Kill() })
			defer timer.Stop()
		}
		target := rand.IntN(20)
		for n := 0; c.lines.Scan(); n++ {
			number, ok := ackNumber(c.lines.Text())
			if !ok {
				t.Fatalf("helper said %q", c.lines.Text())
			}
			acked = number
			if round%2 == 0 && n == target {
				_ = c.cmd.Process.Kill()
			}
		}
		_ = c.cmd.Wait()
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.Messages(ctx, "crash")
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for _, m := range rows {
			seen = append(seen, m.Content)
		}
		generation, _ := strconv.Atoi(strings.Join(seen[:min(1, len(seen))], ""))
		whole := len(rows) == 20 || generation == 0 && len(rows) <= 1
		if !whole || generation < acked || generation > acked+1 || strings.Join(seen, " ") != strings.TrimSpace(strings.Repeat(strconv.Itoa(generation)+" ", len(rows))) {
			t.Fatalf("round %d: acknowledged %d, stored %v", round, acked, seen)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acked == 0 {
		t.Error("nothing was ever compacted")
	}
	t.Logf("%d generations", acked)
}

// TestPreviewAfterCompaction: a list shows what a person said first, not a summary.
func TestPreviewAfterCompaction(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	rows := say(t, s, "s", "first", "second")
	lockFor(t, s, "s", "h")
	_, err := s.Compact(ctx, Compaction{SessionID: "s", Holder: "h", From: ids(rows), Rows: []Message{
		{Role: "user", Content: "a summary", CompressedSummary: true}, rows[1],
	}})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.Sessions(ctx, ListOptions{}); err != nil || list[0].Preview != "second" {
		t.Errorf("%+v, %v", list, err)
	}
}
