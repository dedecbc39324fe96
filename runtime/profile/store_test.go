package profile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/profilehome"
)

func lstat(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestStoreOpensLazily: nothing is opened before the first turn, and an idle store is closed, which needs no thread
// of its own; a turn opens it again with everything in it.
func TestStoreOpensLazily(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	// The demo asks for no title after a turn: that use of the store would begin the idle time at any moment.
	r := openRig(t, nil, t.TempDir(), "alice", profilehome.Demo(), func(o *Options) { o.Clock = fake; o.StoreIdle = time.Minute })
	r.runtime.CheckStore(ctx(t))
	if r.runtime.store.isOpen() || lstat(r.runtime.Paths().Store()) {
		t.Fatal("opening or checking a profile made a store")
	}
	r.mustSay("s", "one")
	fake.Step(time.Minute - 1)
	if !r.runtime.store.isOpen() {
		t.Fatal("closed too early")
	}
	r.mustSay("s", "two") // begins the idle time anew
	fake.Step(time.Minute - 1)
	if !r.runtime.store.isOpen() {
		t.Fatal("closed too early after the second turn")
	}
	fake.Step(1)
	if r.runtime.store.isOpen() {
		t.Fatal("an idle store stays open")
	}
	if h := r.runtime.Health(); h.Store == nil || h.Store.Sessions != 1 || h.Reason != "" {
		t.Errorf("health of a closed store %+v", h)
	}
	r.mustSay("s", "three")
	if got := r.roles("s"); got != "uauaua" {
		t.Errorf("rows %s", got)
	}
}

// TestStoreStaysOpenWhileUsed: the idle time does not run during a turn.
func TestStoreStaysOpenWhileUsed(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	l := newLazyStore(filepath.Join(t.TempDir(), "state.db"), time.Minute, fake, logr.Discard())
	_, one, err := l.acquire(ctx(t))
	must(t, err)
	_, two, err := l.acquire(ctx(t))
	must(t, err)
	one()
	one() // once counts
	fake.Step(time.Hour)
	l.closeUnused()
	if !l.isOpen() {
		t.Fatal("closed under its user")
	}
	two()
	l.closeUnused()
	if l.isOpen() {
		t.Fatal("still open")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				_, release, err := l.acquire(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				release()
				l.closeUnused()
			}
		})
	}
	wg.Wait()
	must(t, l.close(ctx(t)))
	must(t, l.close(ctx(t)))
	if _, _, err := l.acquire(ctx(t)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("acquire after close: %v", err)
	}
}

// TestCorruptStore says so before the first message and at every turn, leaves the file as it is, and goes on once a
// person has moved it away.
func TestCorruptStore(t *testing.T) {
	r := newRig(t)
	path := r.runtime.Paths().Store()
	damaged := bytes.Repeat([]byte("this is no database\n"), 1000)
	must(t, os.WriteFile(path, damaged, 0o600))
	r.runtime.CheckStore(ctx(t))
	if h := r.runtime.Health(); h.Reason != "StoreCorrupt" || !strings.Contains(h.Message, "restore a backup") || r.changes.Load() == 0 {
		t.Errorf("health %+v after %d changes", h, r.changes.Load())
	}
	if _, err := r.say("s", "one"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("turn: %v", err)
	}
	if n := len(r.model.Requests()); n != 0 {
		t.Errorf("%d requests without a place to keep the answer", n)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was changed: %v", err)
	}
	must(t, os.Rename(path, path+".damaged"))
	r.mustSay("s", "two")
	if h := r.runtime.Health(); h.Reason != "" || h.Store == nil {
		t.Errorf("health %+v", h)
	}
}

// TestStoreOfAnotherProcess: one writer per store; the other is named, and waited for by trying again.
func TestStoreOfAnotherProcess(t *testing.T) {
	r := newRig(t)
	other, err := store.Open(ctx(t), r.runtime.Paths().Store(), store.Options{Log: logr.Discard()})
	must(t, err)
	_, err = r.say("s", "one")
	if !errors.Is(err, store.ErrStoreBusy) {
		t.Errorf("turn: %v", err)
	}
	if h := r.runtime.Health(); h.Reason != "HomeInUse" {
		t.Errorf("health %+v", h)
	}
	must(t, other.Close())
	r.mustSay("s", "two")
	if h := r.runtime.Health(); h.Reason != "" {
		t.Errorf("health %+v", h)
	}
}

// TestCheckClosesTheStore: a thousand checked profiles are not a thousand open stores.
func TestCheckClosesTheStore(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	first := openRig(t, m, root, "alice", profilehome.Model(m.URL(), "k"))
	first.mustSay("s", "one")
	must(t, first.runtime.Close(ctx(t)))
	r := openRig(t, m, root, "alice", profilehome.Model(m.URL(), "k"))
	r.runtime.CheckStore(ctx(t))
	if r.runtime.store.isOpen() {
		t.Error("the store stays open")
	}
	if h := r.runtime.Health(); h.Store == nil || h.Store.Sessions != 1 {
		t.Errorf("health %+v", h)
	}
}
