package host

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// G-224, G-225: killing the owner frees the lock at once, its record is proved stale, and the next claimant wins.
func TestKilledOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	owner := startHelper(t, "claimant")
	if got := owner.do(command{Do: "claim", Dir: dir, Home: "/owner/home", Token: "secret"}); got.Outcome != Acquired.String() || got.Err != "" {
		t.Fatalf("owner: %+v", got)
	}
	r := newRendezvous(t, dir)
	if record, standing, reason := r.Look(); standing != Owner || record.PID != owner.pid() {
		t.Fatalf("live owner judged %s (%s): %+v", standing, reason, record)
	}
	if got := r.Claim(Offer{Home: "/second"}); got.Outcome != HeldByAnother || got.Holder == nil || got.Holder.PID != owner.pid() || got.Holder.HermesHome != "/owner/home" {
		t.Fatalf("second claim beside a live owner: %+v", got)
	}
	if removed, err := r.DiscardDead(); removed || err != nil || !exists(t, r.RecordPath()) {
		t.Fatalf("T-021 live owner: removed %v, %v", removed, err)
	}

	owner.signalAndWait(syscall.SIGKILL)
	if record, standing, reason := r.Look(); record == nil || standing != Stale {
		t.Errorf("record of a killed owner judged %s (%s)", standing, reason)
	}
	if removed, err := r.DiscardDead(); !removed || err != nil || exists(t, r.RecordPath()) || exists(t, r.TokenPath()) {
		t.Errorf("T-021 dead owner: removed %v, %v", removed, err)
	}
	if got := r.Claim(Offer{Home: "/second"}); got.Outcome != Acquired || got.Err != nil {
		t.Errorf("claim after the owner was killed: %+v", got)
	}
}

// The second claimant wins without anybody tidying up first, and replaces record and token of the dead owner.
func TestClaimOverADeadOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	first, second := startHelper(t, "claimant"), startHelper(t, "claimant")
	first.do(command{Do: "claim", Dir: dir, Home: "/first", Token: "secret"})
	first.signalAndWait(syscall.SIGKILL)
	r := newRendezvous(t, dir)
	if !exists(t, r.RecordPath()) || !exists(t, r.TokenPath()) {
		t.Fatal("a killed process cannot have cleared its record")
	}
	if got := second.do(command{Do: "claim", Dir: dir, Home: "/second"}); got.Outcome != Acquired.String() || got.Err != "" {
		t.Fatalf("second claimant: %+v", got)
	}
	record, standing, _ := r.Look()
	if standing != Owner || record.PID != second.pid() || record.Home != "/second" || exists(t, r.TokenPath()) {
		t.Errorf("after the second claim: %s, %+v, token left: %v", standing, record, exists(t, r.TokenPath()))
	}
}

// T-020: SIGTERM takes record and token away and frees the lock.
func TestSIGTERMClearsTheRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	owner := startHelper(t, "claimant")
	owner.do(command{Do: "claim", Dir: dir, Home: "/owner", Token: "secret"})
	r := newRendezvous(t, dir)
	if !exists(t, r.RecordPath()) || !exists(t, r.TokenPath()) {
		t.Fatal("owner published nothing")
	}
	if code := owner.signalAndWait(syscall.SIGTERM); code != 0 {
		t.Errorf("owner exited with %d", code)
	}
	if exists(t, r.RecordPath()) || exists(t, r.TokenPath()) {
		t.Error("record or token outlived the process")
	}
	acquire(t, r.LockPath())
}

// G-200: of two processes that claim at the same moment exactly one wins, every time.
func TestRaceForTheHostLock(t *testing.T) {
	a, b := startHelper(t, "claimant"), startHelper(t, "claimant")
	wins := map[int]int{}
	dir := filepath.Join(t.TempDir(), "locks")
	for round := range 50 {
		claim := command{Do: "claim", Dir: dir, Home: "/home"}
		a.send(claim)
		b.send(claim)
		ra, rb := a.receive(), b.receive()
		winner, loser := a, rb
		if rb.Outcome == Acquired.String() {
			winner, loser = b, ra
		}
		if (ra.Outcome == Acquired.String()) == (rb.Outcome == Acquired.String()) || loser.Outcome != HeldByAnother.String() {
			t.Fatalf("round %d: %+v and %+v", round, ra, rb)
		}
		wins[winner.pid()]++
		record, standing, reason := newRendezvous(t, dir).Look()
		if standing != Owner || record.PID != winner.pid() {
			t.Fatalf("round %d: winner %d, record %+v is %s (%s)", round, winner.pid(), record, standing, reason)
		}
		if got := winner.do(command{Do: "clear"}); got.Err != "" {
			t.Fatal(got.Err)
		}
	}
	t.Logf("wins: %v", wins)
}

// G-210, G-211: the home lock is free after kill -9 and the left pid file does not stop the next gateway.
func TestKilledHomeOwner(t *testing.T) {
	home := t.TempDir()
	first, second := startHelper(t, "claimant"), startHelper(t, "claimant")
	claim := command{Do: "claim-home", Home: home}
	if got := first.do(claim); got.Outcome != Acquired.String() || got.Err != "" {
		t.Fatalf("first: %+v", got)
	}
	if got := second.do(claim); got.Outcome != HeldByAnother.String() {
		t.Fatalf("second beside the first: %+v", got)
	}
	first.signalAndWait(syscall.SIGKILL)
	if left, ok := ReadPIDFile(home); !ok || left.PID != first.pid() || ProcessLiveness(left.Process()) != Dead {
		t.Fatalf("left pid file: %+v, %v", left, ok)
	}
	if got := second.do(claim); got.Outcome != Acquired.String() || got.Err != "" {
		t.Fatalf("second after the first was killed: %+v", got)
	}
	if now, ok := ReadPIDFile(home); !ok || now.PID != second.pid() || ProcessLiveness(now.Process()) != Alive {
		t.Errorf("pid file: %+v, %v", now, ok)
	}
	if got := second.do(command{Do: "release-home"}); got.Err != "" || exists(t, filepath.Join(home, PIDFileName)) {
		t.Errorf("release: %+v", got)
	}
	if !exists(t, filepath.Join(home, LockFileName)) {
		t.Error("release removed the lock file, on which a waiter may already be")
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the home: %v, %v", entries, err)
	}
}

// G-213 against real processes: the recorded one may be signalled, its successor on the pid may not.
func TestMaySignal(t *testing.T) {
	child := startHelper(t, "claimant")
	home := t.TempDir()
	if got := child.do(command{Do: "claim-home", Home: home}); got.Err != "" {
		t.Fatal(got.Err)
	}
	record, ok := ReadPIDFile(home)
	if !ok {
		t.Fatal("no pid file")
	}
	if err := MaySignal(record, home, record.StartTime); err != nil {
		t.Errorf("recorded process: %v", err)
	}
	if err := MaySignal(record, t.TempDir(), record.StartTime); !errors.Is(err, ErrOtherHome) {
		t.Errorf("for another home: %v", err)
	}
	recycled := record
	recycled.StartTime--
	if err := MaySignal(recycled, home, 0); !errors.Is(err, ErrRecycledPID) {
		t.Errorf("recycled pid: %v", err)
	}
	child.signalAndWait(syscall.SIGKILL)
	if err := MaySignal(record, home, record.StartTime); !errors.Is(err, ErrProcessGone) {
		t.Errorf("after the kill: %v", err)
	}
}
