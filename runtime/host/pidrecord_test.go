package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
)

// G-211, Q-20
func TestParsePIDRecord(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		ok         bool
		want       ProcessID
	}{
		{"complete", `{"kind":"hermes-gateway","pid":12,"argv":["hermes","gateway"],"start_time":77,"hermes_home":"/h"}`, true, ProcessID{12, 77}},
		{"byte order mark", "\xef\xbb\xbf" + `{"kind":"hermes-gateway","pid":12,"start_time":77}`, true, ProcessID{12, 77}},
		{"start time null", `{"kind":"hermes-gateway","pid":12,"start_time":null}`, true, ProcessID{12, 0}},
		{"start time negative", `{"kind":"hermes-gateway","pid":12,"start_time":-5}`, true, ProcessID{12, 0}},
		{"start time a string", `{"kind":"hermes-gateway","pid":12,"start_time":"77"}`, true, ProcessID{12, 0}},
		{"argv a string", `{"kind":"hermes-gateway","pid":12,"argv":"x","start_time":77}`, true, ProcessID{12, 77}},
		{"other kind", `{"kind":"nginx","pid":12,"start_time":77}`, false, ProcessID{}},
		{"no kind", `{"pid":12,"start_time":77}`, false, ProcessID{}},
		{"pid 0", `{"kind":"hermes-gateway","pid":0}`, false, ProcessID{}},
		{"pid 12.0", `{"kind":"hermes-gateway","pid":12.0}`, false, ProcessID{}},
		{"pid a string", `{"kind":"hermes-gateway","pid":"12"}`, false, ProcessID{}},
		{"bare pid", `12`, false, ProcessID{}},
		{"empty", ``, false, ProcessID{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := ParsePIDRecord([]byte(tc.data))
			if ok != tc.ok || got.Process() != tc.want {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

// G-211: the keys as others read them.
func TestPIDRecordKeys(t *testing.T) {
	data, err := json.Marshal(PIDRecord{Kind: Kind, PID: 12, Argv: []string{"a"}, StartTime: 7, HermesHome: "/h"})
	const want = `{"kind":"hermes-gateway","pid":12,"argv":["a"],"start_time":7,"hermes_home":"/h"}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

// G-211: exclusive creation; the loser is told and decides.
func TestCreatePIDFileIsExclusive(t *testing.T) {
	home := t.TempDir()
	self := NewPIDRecord(home, os.Args)
	if err := CreatePIDFile(home, self); err != nil {
		t.Fatal(err)
	}
	other := self
	other.PID = 1
	if err := CreatePIDFile(home, other); !errors.Is(err, ErrPIDFileExists) {
		t.Errorf("second creation: %v", err)
	}
	if now, ok := ReadPIDFile(home); !ok || now.PID != os.Getpid() || ProcessLiveness(now.Process()) != Alive {
		t.Errorf("pid file %+v, %v", now, ok)
	}
	if removed, err := RemovePIDFile(home, other.Process()); removed || err != nil || !exists(t, filepath.Join(home, PIDFileName)) {
		t.Errorf("removed somebody else's pid file: %v, %v", removed, err)
	}
	if removed, err := RemovePIDFile(home, self.Process()); !removed || err != nil {
		t.Errorf("own pid file: %v, %v", removed, err)
	}
	if err := CreatePIDFile(filepath.Join(home, "gone"), self); err == nil || exists(t, filepath.Join(home, "gone")) {
		t.Errorf("created a missing home: %v", err)
	}
}

// A pid file that names a living process is not ours to remove, lock or no lock.
func TestClaimHomeKeepsALivingPIDFile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		left    PIDRecord
		raw     string
		wantErr error
	}{
		{name: "living process that predates the lock", left: PIDRecord{Kind: Kind, PID: os.Getppid(), StartTime: Observe(os.Getppid()).StartTime}, wantErr: ErrPIDFileExists},
		{name: "living process without a fingerprint", left: PIDRecord{Kind: Kind, PID: os.Getppid()}, wantErr: ErrPIDFileExists},
		{name: "recycled pid", left: PIDRecord{Kind: Kind, PID: os.Getppid(), StartTime: 1}},
		{name: "torn pid file", raw: `{"kind":"hermes-g`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := t.TempDir()
			data := []byte(tc.raw)
			if tc.raw == "" {
				var err error
				if data, err = json.Marshal(tc.left); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(home, PIDFileName), data, 0o600); err != nil {
				t.Fatal(err)
			}
			got := ClaimHome(home, NewPIDRecord(home, os.Args), logr.Discard())
			if got.Outcome != Acquired || !errors.Is(got.Err, tc.wantErr) || !got.Claim.Held() {
				t.Fatalf("%+v", got)
			}
			now, _ := ReadPIDFile(home)
			if kept := now.PID == os.Getppid(); kept != (tc.wantErr != nil) {
				t.Errorf("pid file now %+v", now)
			}
			if err := got.Claim.Release(); err != nil {
				t.Fatal(err)
			}
			if exists(t, filepath.Join(home, PIDFileName)) != (tc.wantErr != nil) {
				t.Error("release removed what it does not own, or left what it does")
			}
		})
	}
	if got := ClaimHome(filepath.Join(t.TempDir(), "gone"), PIDRecord{}, logr.Discard()); got.Outcome != CouldNotOpen || got.Err == nil {
		t.Errorf("claim of a missing home: %+v", got)
	}
}

// G-213: never another home's process, never a recycled pid.
func TestKillGuard(t *testing.T) {
	sameText := func(a, b string) bool { return a == b }
	running := Observation{State: Alive, StartTime: 50}
	for _, tc := range []struct {
		name   string
		record PIDRecord
		start  int64
		seen   Observation
		want   error
	}{
		{"recorded start matches", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/h"}, 0, running, nil},
		{"supplied start matches", PIDRecord{PID: 9, HermesHome: "/h"}, 50, running, nil},
		{"other home", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/other"}, 0, running, ErrOtherHome},
		{"home not recorded", PIDRecord{PID: 9, StartTime: 50}, 0, running, ErrOtherHome},
		{"supplied start does not match any more", PIDRecord{PID: 9, HermesHome: "/h"}, 49, running, ErrRecycledPID},
		{"record was replaced since", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/h"}, 49, running, ErrRecycledPID},
		{"record names an earlier process than was looked at", PIDRecord{PID: 9, StartTime: 49, HermesHome: "/h"}, 50, running, ErrRecycledPID},
		{"recorded start does not match", PIDRecord{PID: 9, StartTime: 49, HermesHome: "/h"}, 0, running, ErrRecycledPID},
		{"gone", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/h"}, 0, Observation{State: Dead}, ErrProcessGone},
		{"zombie", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/h"}, 50, Observation{State: Dead, StartTime: 50}, ErrProcessGone},
		{"no fingerprint anywhere", PIDRecord{PID: 9, HermesHome: "/h"}, 0, running, ErrUnprovenPID},
		{"not observable", PIDRecord{PID: 9, StartTime: 50, HermesHome: "/h"}, 50, Observation{}, ErrUnprovenPID},
		{"the whole process group", PIDRecord{PID: -1, StartTime: 50, HermesHome: "/h"}, 50, Observation{State: Dead}, ErrProcessGone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := KillGuard(tc.record, "/h", tc.start, tc.seen, sameText); !errors.Is(err, tc.want) || (tc.want == nil) != (err == nil) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// G-104, G-105
func TestSameHome(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{real, link, true}, {real, real + "/", true}, {real, dir + "/x/../real", true},
		{real, dir, false}, {"", "", false}, {real, "", false},
		{dir + "/gone", dir + "/./gone", true},
	} {
		if got := SameHome(tc.a, tc.b); got != tc.want {
			t.Errorf("SameHome(%q, %q) = %v", tc.a, tc.b, got)
		}
	}
	if foldCase("/Users/Me", true) != "/users/me" || foldCase("/Users/Me", false) != "/Users/Me" {
		t.Error("case is folded on the wrong hosts")
	}
}
