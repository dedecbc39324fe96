package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestEntitle: S-241, the truth table of which title gives way to which, and the number of one that is taken.
func TestEntitle(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		had, give string // title sources; "" is a session without a title
		ok        bool
	}{
		{"", TitleDerived, true}, {"", TitleLLM, true},
		{TitleDerived, TitleDerived, false}, {TitleDerived, TitleLLM, true},
		{TitleLLM, TitleDerived, false}, {TitleLLM, TitleLLM, false},
		{TitleUser, TitleDerived, false}, {TitleUser, TitleLLM, false},
		{TitleBranch, TitleLLM, false}, {TitleBranchFallback, TitleLLM, false},
	} {
		s := open(t, storePath(t), testOptions(t))
		session := Session{ID: "s", Source: "cli", TitleSource: c.had}
		if c.had != "" {
			session.Title = "had"
		}
		if _, _, err := s.EnsureSession(ctx, session); err != nil {
			t.Fatal(err)
		}
		title, ok, err := s.Entitle(ctx, "s", "given", c.give)
		got, _, _ := s.Session(ctx, "s")
		want := session.Title
		if c.ok {
			want = "given"
		}
		if err != nil || ok != c.ok || got.Title != want || ok && (title != "given" || got.TitleSource != c.give) {
			t.Errorf("S-241 %q then %q: %q %v %v, stored %q of %q", c.had, c.give, title, ok, err, got.Title, got.TitleSource)
		}
	}
}

func TestEntitleNumbersWhatIsTaken(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	for i, want := range []string{"hello", "hello (2)", "hello (3)", "hello (4)"} {
		id := fmt.Sprint(i)
		ensure(t, s, id)
		if i == 1 { // names around it do not count
			for _, other := range []string{"hello there", "hello (", "hell", "HELLO"} {
				ensure(t, s, other)
				if err := s.SetTitle(ctx, other, other, TitleUser); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, ok, err := s.Entitle(ctx, id, "hello", TitleDerived); got != want || !ok || err != nil {
			t.Errorf("%q %v %v, want %q", got, ok, err, want)
		}
	}
	if err := s.SetTitle(ctx, "1", "", ""); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.Entitle(ctx, "1", "hello", TitleLLM); got != "hello (2)" || !ok || err != nil {
		t.Errorf("a free number: %q %v %v", got, ok, err)
	}
	if _, ok, err := s.Entitle(ctx, "nobody", "x", TitleLLM); ok || err != nil {
		t.Errorf("no session: %v %v", ok, err)
	}
	for _, source := range []string{TitleUser, "", "other"} {
		if _, _, err := s.Entitle(ctx, "0", "x", source); err == nil {
			t.Errorf("source %q was taken", source)
		}
	}
}

// TestPendingSteer: it is either pending or a row (P-38).
func TestPendingSteer(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	s := open(t, path, testOptions(t))
	ensure(t, s, "s")
	ensure(t, s, "other")
	pending := func(id string) string {
		text, err := s.PendingSteer(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, text := range []string{"one", "one\ntwo"} {
		if err := s.SetPendingSteer(ctx, "s", text); err != nil {
			t.Fatal(err)
		}
	}
	if pending("s") != "one\ntwo" || pending("other") != "" {
		t.Errorf("%q %q", pending("s"), pending("other"))
	}
	if _, err := s.AppendSteer(ctx, "nobody", Message{Role: "user", Content: "x"}); !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
	if _, err := s.AppendSteer(ctx, "s", Message{Content: "no role"}); err == nil || pending("s") == "" {
		t.Errorf("a row that failed took the steer with it: %v", err)
	}
	rows, err := s.AppendSteer(ctx, "s", Message{Role: "user", Content: "one\ntwo"})
	if err != nil || len(rows) != 1 || rows[0].ID == 0 || pending("s") != "" {
		t.Errorf("%+v %v, pending %q", rows, err, pending("s"))
	}
	if err := s.SetPendingSteer(ctx, "s", "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPendingSteer(ctx, "s", ""); err != nil || pending("s") != "" {
		t.Errorf("%v, pending %q", err, pending("s"))
	}
}

// TestRewind: rows leave the conversation and stay in the file, and are no compacted ones (S-102).
func TestRewind(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	ensure(t, s, "other")
	rows := say(t, s, "s", "1", "2", "3", "4")
	say(t, s, "other", "5")
	if n, err := s.Rewind(ctx, "s", rows[2].ID); n != 2 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	left, err := s.Messages(ctx, "s")
	session, _, _ := s.Session(ctx, "s")
	if err != nil || len(left) != 2 || session.MessageCount != 2 {
		t.Errorf("%+v %v, counted %d", left, err, session.MessageCount)
	}
	if others, _ := s.Messages(ctx, "other"); len(others) != 1 {
		t.Errorf("another session lost %+v", others)
	}
	var inactive, rewinds int
	if err := s.writer.QueryRow("SELECT COUNT(*), (SELECT rewind_count FROM sessions WHERE id = 's') FROM messages WHERE active = 0 AND compacted = 0").Scan(&inactive, &rewinds); err != nil || inactive != 2 || rewinds != 1 {
		t.Errorf("%d inactive rows, %d rewinds, %v", inactive, rewinds, err)
	}
	if _, err := s.Rewind(ctx, "nobody", 1); !errors.Is(err, ErrNoSession) || !strings.Contains(err.Error(), "nobody") {
		t.Error(err)
	}
}
