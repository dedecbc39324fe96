package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func delegationStore(t *testing.T) (*Store, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(testStart)
	s := open(t, storePath(t), Options{Clock: clock})
	return s, clock
}

func dispatch(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.DispatchDelegation(t.Context(), Delegation{ID: id, ParentSessionID: "p", Task: json.RawMessage(`{"goal":"g"}`)}, 10_000); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, s *Store, id string, at time.Time) {
	t.Helper()
	dispatch(t, s, id)
	ok, err := s.FinishDelegation(t.Context(), id, "completed", json.RawMessage(`{"x":1}`), json.RawMessage(`{"results":[]}`), at)
	if err != nil || !ok {
		t.Fatalf("finish %s: %v, %v", id, ok, err)
	}
}

func deliveryOf(t *testing.T, s *Store, id string) string {
	t.Helper()
	d, ok, err := s.Delegation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "gone"
	}
	return fmt.Sprintf("%s %d %q", d.DeliveryState, d.Attempts, d.Claim)
}

// T-262 and S-205: above the capacity a dispatch is refused, and dispatches at the same time cannot pass it together.
func TestT262DispatchAboveCapacity(t *testing.T) {
	s, _ := delegationStore(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.DispatchDelegation(t.Context(), Delegation{ID: fmt.Sprint("deleg_", i), Task: json.RawMessage(`{}`)}, 3)
		})
	}
	wg.Wait()
	refused := 0
	for _, err := range errs {
		switch {
		case errors.Is(err, ErrDelegationCapacity):
			refused++
		case err != nil:
			t.Fatal(err)
		}
	}
	rows, err := s.UnfinishedDelegations(t.Context())
	if err != nil || len(rows) != 3 || refused != 5 {
		t.Fatalf("%d rows, %d refused, %v", len(rows), refused, err)
	}
	if ok, err := s.FinishDelegation(t.Context(), rows[0].ID, "completed", json.RawMessage(`{}`), nil, testStart); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := s.DispatchDelegation(t.Context(), Delegation{ID: "deleg_more"}, 3); err != nil {
		t.Errorf("one has ended: %v", err)
	}
}

// S-202: the row is there from the dispatch on, and has one end.
func TestS202OneEvent(t *testing.T) {
	s, _ := delegationStore(t)
	in := Delegation{
		ID: "deleg_1", OriginSession: "agent:main:x", OriginSessionID: "p", OriginUISessionID: "ui", ParentSessionID: "p", Task: json.RawMessage(`{"goal":"g"}`),
		OwnerPID: 7, OwnerStartedAt: 12.5, DispatchedAt: testStart,
	}
	if err := s.DispatchDelegation(t.Context(), in, 1); err != nil {
		t.Fatal(err)
	}
	in.State, in.DeliveryState, in.UpdatedAt = "running", DeliveryPending, testStart
	got, ok, err := s.Delegation(t.Context(), "deleg_1")
	if err != nil || !ok || fmt.Sprint(got) != fmt.Sprint(in) {
		t.Fatalf("%+v, %v, %v", got, ok, err)
	}
	if ok, err := s.RecordDelegation(t.Context(), "deleg_1", "finalizing", json.RawMessage(`{"results":[1]}`)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := s.FinishDelegation(t.Context(), "deleg_1", "error", json.RawMessage(`{"e":1}`), nil, testStart); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for name, again := range map[string]func() (bool, error){
		"finish": func() (bool, error) {
			return s.FinishDelegation(t.Context(), "deleg_1", "unknown", json.RawMessage(`{"e":2}`), nil, testStart)
		},
		"record": func() (bool, error) { return s.RecordDelegation(t.Context(), "deleg_1", "running", nil) },
	} {
		if ok, err := again(); ok || err != nil {
			t.Errorf("%s after the end: %v, %v", name, ok, err)
		}
	}
	pending, err := s.PendingDelegations(t.Context())
	if err != nil || len(pending) != 1 || string(pending[0].Event) != `{"e":1}` || pending[0].State != "error" {
		t.Errorf("%+v, %v", pending, err)
	}
}

// T-255 and S-211: exactly 48 hours is kept, a second more is dropped and can still be read. Without a completion the
// dispatch counts.
func TestT255ReplayCap(t *testing.T) {
	s, clock := delegationStore(t)
	finish(t, s, "kept", testStart.Add(time.Second))
	finish(t, s, "old", testStart)
	finish(t, s, "no end", time.Time{}) // dispatched at testStart
	dispatch(t, s, "runs")
	clock.SetTime(testStart.Add(172_801 * time.Second))
	dropped, err := s.DropOldDelegations(t.Context(), 48*time.Hour)
	if err != nil || len(dropped) != 2 {
		t.Fatalf("%v, %v", dropped, err)
	}
	for id, want := range map[string]string{"kept": DeliveryPending, "old": DeliveryDropped, "no end": DeliveryDropped, "runs": DeliveryPending} {
		d, ok, err := s.Delegation(t.Context(), id)
		if err != nil || !ok || d.DeliveryState != want || (id == "old" && string(d.Event) != `{"x":1}`) {
			t.Errorf("T-255 %s: %+v, %v", id, d, err)
		}
	}
}

// S-214 and T-260.
func TestS214Claims(t *testing.T) {
	s, clock := delegationStore(t)
	finish(t, s, "d", testStart)
	step := func(name string, f func() (bool, error), want bool, state string) {
		t.Helper()
		if got, err := f(); err != nil || got != want {
			t.Errorf("S-214 %s: %v, %v", name, got, err)
		}
		if got := deliveryOf(t, s, "d"); got != state {
			t.Errorf("S-214 %s: %s, want %s", name, got, state)
		}
	}
	claim := func(who string) func() (bool, error) {
		return func() (bool, error) { return s.ClaimDelegation(t.Context(), "d", who) }
	}
	step("claim", claim("a"), true, `pending 1 "a"`)
	step("another", claim("b"), false, `pending 1 "a"`)
	clock.SetTime(testStart.Add(300 * time.Second))
	step("at 300 s", claim("b"), false, `pending 1 "a"`)
	clock.SetTime(testStart.Add(301 * time.Second))
	step("after 300 s", claim("b"), true, `pending 2 "b"`)
	step("the old holder", func() (bool, error) { return s.CompleteDelegation(t.Context(), "d", "a") }, false, `pending 2 "b"`)
	step("defer", func() (bool, error) { return s.DeferDelegation(t.Context(), "d", "b") }, true, `pending 1 ""`)
	for n := 2; n <= 7; n++ {
		step("claim", claim("c"), true, fmt.Sprintf(`pending %d "c"`, n))
		step("release", func() (bool, error) { return s.ReleaseDelegation(t.Context(), "d", "c") }, true, fmt.Sprintf(`pending %d ""`, n))
	}
	step("claim", claim("c"), true, `pending 8 "c"`)
	step("T-260 the 8th release", func() (bool, error) { return s.ReleaseDelegation(t.Context(), "d", "c") }, true, `dropped 8 ""`)
	step("claim of a dropped one", claim("c"), false, `dropped 8 ""`)
	if ok, err := s.ClaimDelegation(t.Context(), "none", "c"); !ok || err != nil {
		t.Errorf("S-214 a missing row is claimable: %v, %v", ok, err)
	}
	finish(t, s, "e", testStart)
	_, _ = s.ClaimDelegation(t.Context(), "e", "c")
	if ok, err := s.CompleteDelegation(t.Context(), "e", "c"); !ok || err != nil || deliveryOf(t, s, "e") != `delivered 1 ""` {
		t.Errorf("S-214 complete: %v, %v, %s", ok, err, deliveryOf(t, s, "e"))
	}
	finish(t, s, "f", testStart)
	_, _ = s.ClaimDelegation(t.Context(), "f", "c")
	if ok, err := s.DropDelegation(t.Context(), "f", "c"); !ok || err != nil || deliveryOf(t, s, "f") != `dropped 1 ""` {
		t.Errorf("S-214 drop: %v, %v, %s", ok, err, deliveryOf(t, s, "f"))
	}
}

// S-207: delivered rows 7 days, 50 settled ones of which the delivered go first, 1000 pending ones; what runs stays.
func TestS207Retention(t *testing.T) {
	s, clock := delegationStore(t)
	settle := func(id string, how func(id, claim string) (bool, error)) {
		t.Helper()
		finish(t, s, id, clock.Now())
		_, _ = s.ClaimDelegation(t.Context(), id, "c")
		if ok, err := how(id, "c"); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	complete := func(id, claim string) (bool, error) { return s.CompleteDelegation(t.Context(), id, claim) }
	drop := func(id, claim string) (bool, error) { return s.DropDelegation(t.Context(), id, claim) }
	dispatch(t, s, "runs")
	settle("expired", complete)
	clock.SetTime(testStart.Add(time.Second))
	for i := range 40 {
		settle(fmt.Sprintf("dropped %02d", i), drop)
	}
	clock.SetTime(testStart.Add(2 * time.Second))
	for i := range 12 {
		settle(fmt.Sprintf("delivered %02d", i), complete)
	}
	for i := range 1003 {
		finish(t, s, fmt.Sprintf("pending %04d", i), clock.Now().Add(time.Duration(i)*time.Second))
	}
	clock.SetTime(testStart.Add(delegationKeep + time.Second))
	if err := s.TrimDelegations(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Delegations(t.Context(), "", 5000)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range rows {
		kind := r.DeliveryState
		if r.State == "running" {
			kind = "running"
		}
		counts[kind]++
	}
	if want := map[string]int{"running": 1, "dropped": 40, "delivered": 10, "pending": 1000}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("S-207: %v, want %v", counts, want)
	}
	for _, id := range []string{"expired", "pending 0000", "pending 0002"} {
		if got := deliveryOf(t, s, id); got != "gone" {
			t.Errorf("S-207: %s is %s", id, got)
		}
	}
}
