package store

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestKillLosesNothing kills a real writer at random moments and looks for every row it had acknowledged.
func TestKillLosesNothing(t *testing.T) {
	const rounds = 30
	ctx := context.Background()
	path := storePath(t)
	options := testOptions(t)
	stored, acked := 0, 0
	for round := range rounds {
		c := startChild(t, "write", path, strconv.Itoa(stored))
		// Killed by its count in the even rounds, by the clock in the odd ones: then in the middle of anything.
		if round%2 == 1 {
			timer := time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, func() { _ = c.cmd.Process.Kill() })
			defer timer.Stop()
		}
		target := rand.IntN(100)
		for n := 0; c.lines.Scan(); n++ {
			number, ok := ackNumber(c.lines.Text())
			if !ok {
				t.Fatalf("round %d: helper said %q", round, c.lines.Text())
			}
			acked = number + 1
			if round%2 == 0 && n == target {
				_ = c.cmd.Process.Kill()
			}
		}
		if err := c.cmd.Wait(); err == nil {
			t.Fatalf("round %d: the writer ended by itself", round)
		}
		stored = verifyAfterCrash(ctx, t, path, options, acked)
	}
	if acked < rounds {
		t.Errorf("only %d rows acknowledged in %d rounds", acked, rounds)
	}
	t.Logf("%d rows acknowledged, %d stored, %d kills", acked, stored, rounds)
}

func ackNumber(line string) (int, bool) {
	if len(line) < 5 || line[:4] != "ack " {
		return 0, false
	}
	n, err := strconv.Atoi(line[4:])
	return n, err == nil
}

// verifyAfterCrash reopens the store and returns its number of rows, which are numbered without a gap.
func verifyAfterCrash(ctx context.Context, t *testing.T, path string, options Options, acked int) int {
	t.Helper()
	s, err := Open(ctx, path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	messages, err := s.Messages(ctx, "crash")
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) < acked {
		t.Fatalf("%d rows stored, %d were acknowledged", len(messages), acked)
	}
	for i, m := range messages {
		if m.Content != strconv.Itoa(i) {
			t.Fatalf("row %d is %q", i, m.Content)
		}
	}
	session, _, err := s.Session(ctx, "crash")
	if err != nil || session.MessageCount != int64(len(messages)) {
		t.Fatalf("counter %d, rows %d, %v", session.MessageCount, len(messages), err)
	}
	var verdict string
	if err := s.writer.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity check: %q, %v", verdict, err)
	}
	return len(messages)
}
