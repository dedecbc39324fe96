package profile

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
)

// await polls a condition that other goroutines bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	c := ctx(t)
	for tick := time.NewTicker(5 * time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-c.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func TestWhichStoreFailuresMayPass(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":                   {nil, false},
		"locked":                 {fmt.Errorf("x: %w", store.ErrContended), true},
		"another process":        {store.ErrStoreBusy, true},
		"full disk":              {errors.New("database or disk is full"), true},
		"a turn that was locked": {&agent.Error{Kind: agent.KindPersistence, Err: store.ErrContended}, true},
		"damage":                 {store.ErrCorrupt, false},
		"foreign schema":         {&store.SchemaError{Reason: "is newer"}, false},
		"replaced":               {store.ErrReplaced, false},
		"cut off":                {&store.RetiredError{}, false},
		"log of another":         {&store.RetiredError{Opening: true}, true},
		"closed":                 {store.ErrClosed, false},
	} {
		if got := mayPass(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for looks, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := storeAgainAfter(looks); got != want*time.Second {
			t.Errorf("after %d looks: %s", looks, got)
		}
	}
}

// TestS115LockedStoreRecoversByItself: a store that stayed locked is looked at again without anybody using it; while the
// lock stays there is nothing to report, and when it goes the profile is well again.
func TestS115LockedStoreRecoversByItself(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	r := newRig(t, func(o *Options) { o.Clock = fake; o.StoreIdle = 24 * time.Hour })
	r.mustSay("s", "one")
	other, err := sql.Open("sqlite", "file:"+r.runtime.Paths().Store()+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	must(t, err)
	defer other.Close()
	tx, err := other.Begin()
	must(t, err)
	defer func() { _ = tx.Rollback() }()

	r.runtime.noteStore(ctx(t), &agent.Error{Kind: agent.KindPersistence, Err: fmt.Errorf("%w for 1m0s", store.ErrContended)})
	if h := r.runtime.Health(); h.Reason != v1alpha1.ReasonStoreUnavailable {
		t.Fatalf("health %+v", h)
	}
	told := r.changes.Load()
	state := func() storeAgain {
		r.runtime.mu.Lock()
		defer r.runtime.mu.Unlock()
		return r.runtime.storeAgain
	}
	for n, wait := range []time.Duration{time.Second, 2 * time.Second} {
		fake.Step(wait - 1)
		if s := state(); s.timer == nil || s.looks != n+1 {
			t.Fatalf("looked before %s", wait)
		}
		fake.Step(1)
		await(t, "another look", func() bool { return state().looks == n+2 })
	}
	if h := r.runtime.Health(); h.Reason != v1alpha1.ReasonStoreUnavailable || r.changes.Load() != told {
		t.Errorf("while it is locked: %+v, %d reports", h, r.changes.Load()-told)
	}
	must(t, tx.Rollback())
	fake.Step(4 * time.Second)
	await(t, "well again", func() bool { return r.runtime.Health().Reason == "" })
	await(t, "told", func() bool { return r.changes.Load() > told })
	if state().timer != nil {
		t.Error("a store that is well is looked at again")
	}
}

// TestStoreOfAnotherProcessIsTakenWhenItIsFree: the verdict on opening clears by itself as well.
func TestStoreOfAnotherProcessIsTakenWhenItIsFree(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	r := newRig(t, func(o *Options) { o.Clock = fake; o.StoreIdle = 24 * time.Hour })
	other, err := store.Open(ctx(t), r.runtime.Paths().Store(), store.Options{})
	must(t, err)
	r.runtime.CheckStore(ctx(t))
	if h := r.runtime.Health(); h.Reason != v1alpha1.ReasonHomeInUse {
		t.Fatalf("health %+v", h)
	}
	must(t, other.Close())
	fake.Step(time.Second)
	await(t, "well again", func() bool { return r.runtime.Health().Reason == "" })
}
