package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
)

// G-220
func TestRendezvousDir(t *testing.T) {
	for _, tc := range []struct{ lockDir, stateHome, want string }{
		{"/locks", "/state", "/locks"},
		{"", "/state", "/state/hermes/gateway-locks"},
		{"", "", "/home/u/.local/state/hermes/gateway-locks"},
	} {
		if got := RendezvousDir(tc.lockDir, tc.stateHome, "/home/u"); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// T-019, G-226: the first record has an empty served set; the settled one follows.
func TestClaimThenPublish(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "locks")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	port := 99
	r, err := NewRendezvous(RendezvousConfig{Dir: dir, Role: RoleServe, UID: os.Getuid(), Clock: clocktesting.NewFakePassiveClock(now), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Claim(Offer{Home: "/h", Host: "127.0.0.1", Port: &port, Token: "secret"}); got.Outcome != Acquired || got.Err != nil {
		t.Fatalf("%+v", got)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "host-serve.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"profiles":[]`) || !strings.Contains(string(raw), `"updatedAt":"2026-01-02T02:04:05.000000Z"`) {
		t.Errorf("claimed as %s", raw)
	}
	record, standing, _ := r.Look()
	if standing != Owner || record.PID != os.Getpid() || *record.Port != 99 || record.CreateTime == nil || record.TokenFingerprint != TokenFingerprint("secret") {
		t.Errorf("claimed as %s %+v", standing, record)
	}
	for _, name := range []string{"host-serve.json", "host-serve.lock", "host-serve.token"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if token, err := os.ReadFile(r.TokenPath()); err != nil || string(token) != "secret" {
		t.Errorf("token %q, %v", token, err)
	}
	before := r.Writes()
	if err := r.Publish([]string{"default", "ops"}); err != nil {
		t.Fatal(err)
	}
	if record, _, _ := r.Look(); !reflect.DeepEqual(record.Profiles, []string{"default", "ops"}) || *record.Port != 99 {
		t.Errorf("published %+v", record)
	}
	if r.Writes() == before {
		t.Error("G-230: a record write went unnoticed")
	}
	if got := r.Claim(Offer{Home: "/other"}); got.Outcome != Acquired || got.Err != nil {
		t.Errorf("claiming again: %+v", got)
	}
	if record, _, _ := r.Look(); record.Home != "/h" {
		t.Error("claiming again replaced the record")
	}
	if err := r.Clear(); err != nil || exists(t, r.RecordPath()) || exists(t, r.TokenPath()) {
		t.Errorf("clear: %v", err)
	}
	acquire(t, r.LockPath())
}

// G-221: no record is published when its token cannot be.
func TestNoRecordWithoutItsToken(t *testing.T) {
	r := newRendezvous(t, t.TempDir())
	if err := os.MkdirAll(filepath.Join(r.TokenPath(), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := r.Claim(Offer{Home: "/h", Token: "secret"})
	if got.Outcome != Acquired || got.Err == nil || exists(t, r.RecordPath()) {
		t.Errorf("%+v, record published: %v", got, exists(t, r.RecordPath()))
	}
	if err := r.Publish([]string{"default"}); err == nil || exists(t, r.RecordPath()) {
		t.Errorf("published later without its token: %v", err)
	}
	if err := os.RemoveAll(r.TokenPath()); err != nil {
		t.Fatal(err)
	}
}

// T-012
func TestLockDirModeIsRepaired(t *testing.T) {
	for name, use := range map[string]func(*Rendezvous){
		"before claiming": func(r *Rendezvous) { r.Claim(Offer{Home: "/h"}) },
		"before reading":  func(r *Rendezvous) { r.Read() },
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o775); err != nil {
			t.Fatal(err)
		}
		use(newRendezvous(t, dir))
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	fresh := filepath.Join(t.TempDir(), "a", "b")
	newRendezvous(t, fresh).Read()
	if exists(t, fresh) {
		t.Error("reading created the directory")
	}
}

// T-013, G-225: not being able to open the lock is not contention.
func TestCouldNotOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lockIsDir := t.TempDir()
	if err := os.Mkdir(filepath.Join(lockIsDir, "host-gateway.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(file, "locks"), file, lockIsDir} {
		r := newRendezvous(t, dir)
		got := r.Claim(Offer{Home: "/h"})
		if got.Outcome != CouldNotOpen || got.Err == nil || got.Holder != nil || exists(t, filepath.Join(lockIsDir, "host-gateway.json")) {
			t.Errorf("%s: %+v", dir, got)
		}
		if err := r.Publish(nil); !errors.Is(err, ErrNotClaimed) {
			t.Errorf("published without the lock: %v", err)
		}
	}
}

// G-223: another user's file or directory is nobody's record, and the reader says so once.
func TestForeignRecordIsIgnored(t *testing.T) {
	dir := t.TempDir()
	owner := newRendezvous(t, dir)
	owner.Claim(Offer{Home: "/h"})
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	r, err := NewRendezvous(RendezvousConfig{Dir: dir, Role: RoleGateway, UID: os.Getuid() + 1, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if record, standing, _ := r.Look(); record != nil || standing != Stale {
		t.Errorf("foreign directory: %+v", record)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "belongs to uid") {
		t.Errorf("logged %q", lines)
	}
	if got := r.Claim(Offer{Home: "/x"}); got.Outcome != CouldNotOpen {
		t.Errorf("claimed in a foreign directory: %+v", got)
	}
	if removed, _ := r.DiscardDead(); removed || !exists(t, owner.RecordPath()) {
		t.Error("discarded a foreign record")
	}
}

// G-223: in a directory of ours, a file of somebody else's.
func TestForeignFileIsIgnored(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	r, err := NewRendezvous(RendezvousConfig{Dir: t.TempDir(), Role: RoleGateway, UID: os.Getuid(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		err = errors.Join(os.WriteFile(r.RecordPath(), with(t, map[string]any{"pid": os.Getpid()}), 0o600), os.Chown(r.RecordPath(), 12345, -1))
	} else {
		err = os.Symlink("/etc/passwd", r.RecordPath())
	}
	if err != nil {
		t.Fatal(err)
	}
	if record, ok := r.Read(); ok {
		t.Errorf("believed %+v", record)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "belongs to another user") {
		t.Errorf("logged %q", lines)
	}
}

// T-021 for this process's own record, and for records that must stay.
func TestDiscardDead(t *testing.T) {
	dead := Record{Role: RoleGateway, PID: 1 << 30, ProtocolVersion: 1, TokenFingerprint: TokenFingerprint("secret")}
	for _, tc := range []struct {
		name   string
		record Record
		token  string
		want   bool
		kept   bool // the token
	}{
		{"pid is free", dead, "secret", true, false},
		{"pid is free, token is a newer owner's", dead, "newer", true, true},
		{"unknown version, pid is free", func() Record { r := dead; r.ProtocolVersion = 2; return r }(), "secret", true, false},
		{"unknown version, pid lives", Record{Role: RoleGateway, PID: os.Getppid(), ProtocolVersion: 2}, "secret", false, true},
		{"cannot tell", Record{Role: RoleGateway, PID: os.Getppid(), ProtocolVersion: 1}, "secret", false, true},
		{"this process", Record{Role: RoleGateway, PID: os.Getpid(), ProtocolVersion: 1, TokenFingerprint: TokenFingerprint("secret")}, "secret", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRendezvous(t, t.TempDir())
			data, err := json.Marshal(tc.record)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(r.RecordPath(), data, 0o600), os.WriteFile(r.TokenPath(), []byte(tc.token), 0o600)); err != nil {
				t.Fatal(err)
			}
			removed, err := r.DiscardDead()
			if err != nil || removed != tc.want || exists(t, r.RecordPath()) == tc.want || exists(t, r.TokenPath()) != tc.kept {
				t.Errorf("removed %v, %v; record there %v, token there %v", removed, err, exists(t, r.RecordPath()), exists(t, r.TokenPath()))
			}
			if (r.Writes() > 0) != tc.want {
				t.Errorf("G-230: %d writes counted", r.Writes())
			}
		})
	}
}

// G-229: clearing removes nothing that a later owner published.
func TestClearKeepsALaterRecord(t *testing.T) {
	r := newRendezvous(t, t.TempDir())
	r.Claim(Offer{Home: "/h", Token: "secret"})
	later := with(t, map[string]any{"pid": os.Getppid()})
	if err := errors.Join(os.WriteFile(r.RecordPath(), later, 0o600), os.WriteFile(r.TokenPath(), []byte("later"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.Clear(); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(r.RecordPath()); err != nil || string(now) != string(later) || !exists(t, r.TokenPath()) {
		t.Errorf("later record: %s, %v", now, err)
	}
}

// A retracted record does not come back, and the lock is kept until the process has cleared.
func TestRetract(t *testing.T) {
	r := newRendezvous(t, t.TempDir())
	r.Claim(Offer{Home: "/h", Token: "secret"})
	if err := r.Retract(); err != nil || exists(t, r.RecordPath()) || exists(t, r.TokenPath()) {
		t.Fatalf("retract: %v", err)
	}
	if err := r.Publish([]string{"default"}); !errors.Is(err, ErrRetracted) || exists(t, r.RecordPath()) {
		t.Errorf("published after retracting: %v", err)
	}
	if got := TryLock(r.LockPath()); got.Outcome != HeldByAnother || !r.Held() {
		t.Errorf("lock after retracting: %s", got.Outcome)
	}
	if err := r.Clear(); err != nil {
		t.Fatal(err)
	}
	if got := r.Claim(Offer{Home: "/h"}); got.Outcome != Acquired || !exists(t, r.RecordPath()) {
		t.Errorf("claim after clearing: %+v", got)
	}
}

func TestNewRendezvousRefuses(t *testing.T) {
	_, err := NewRendezvous(RendezvousConfig{Dir: "/x", Role: "king"})
	mustContain(t, err, `unknown rendezvous role "king"`)
	_, err = NewRendezvous(RendezvousConfig{Dir: "x", Role: RoleGateway})
	mustContain(t, err, "must be an absolute path")
}

// removeIf judges what it has moved aside, so a file published in between survives.
func TestRemoveIfSparesANewerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	judged := 0
	removed, err := removeIf(path, func(data []byte) bool {
		if judged++; judged == 1 {
			if err := writePrivate(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		return string(data) == "old"
	})
	if now, readErr := os.ReadFile(path); err != nil || removed || readErr != nil || string(now) != "new" {
		t.Errorf("removed %v, %v; left %q, %v", removed, err, now, readErr)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A lock that was just taken may still carry the name of its dead former holder, who must not be blamed.
func TestDeadHolderIsNotNamed(t *testing.T) {
	dir := t.TempDir()
	holding, losing := newRendezvous(t, dir), newRendezvous(t, dir)
	holding.Claim(Offer{Home: "/h"})
	if got := losing.Claim(Offer{Home: "/x"}); got.Holder == nil || got.Holder.PID != os.Getpid() {
		t.Errorf("living holder: %+v", got)
	}
	if err := holding.lock.WriteOwner([]byte(`{"kind":"hermes-gateway","pid":1073741824,"start_time":5}`)); err != nil {
		t.Fatal(err)
	}
	if got := losing.Claim(Offer{Home: "/x"}); got.Outcome != HeldByAnother || got.Holder != nil {
		t.Errorf("dead holder: %+v", got)
	}
}

// G-229: on a signal the record is gone before anything else happens, and the lock is still held.
func TestRetractOnSignal(t *testing.T) {
	r := newRendezvous(t, t.TempDir())
	r.Claim(Offer{Home: "/h", Token: "secret"})
	type seen struct {
		sig            os.Signal
		record, locked bool
	}
	handed := make(chan seen, 1)
	stop := r.RetractOnSignal(func(sig os.Signal) {
		_, err := os.Lstat(r.RecordPath())
		handed <- seen{sig, err == nil, r.Held()}
	}, syscall.SIGUSR2)
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	if got := <-handed; got != (seen{syscall.SIGUSR2, false, true}) {
		t.Errorf("handed over %+v", got)
	}
	stop()
}
