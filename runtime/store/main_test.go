package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"
)

// childEnv makes the test binary run as a helper process instead of running tests.
const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

var testStart = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func testOptions(t testing.TB) Options {
	options := Options{Clock: clocktesting.NewFakePassiveClock(testStart)}
	if test, ok := t.(*testing.T); ok {
		options.Log = testr.New(test)
	}
	return options
}

func storePath(t testing.TB) string { return filepath.Join(t.TempDir(), "state.db") }

// open opens a store that is closed with the test.
func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ensure(t testing.TB, s *Store, id string) Session {
	t.Helper()
	session, _, err := s.EnsureSession(context.Background(), Session{ID: id, Source: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func say(t testing.TB, s *Store, session string, texts ...string) []Message {
	t.Helper()
	messages := make([]Message, len(texts))
	for i, text := range texts {
		messages[i] = Message{Role: "user", Content: text}
	}
	stored, err := s.Append(context.Background(), session, messages...)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}
