package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func newStateFile(t *testing.T) (*StateFile, *clocktesting.FakePassiveClock, string) {
	t.Helper()
	home := t.TempDir()
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return NewStateFile(NewPIDRecord(home, []string{"hermes", "gateway", "run"}), CodeIdentity{CodeSHA: "c0de", Revision: "1f3c9ab"}, clk), clk, home
}

// G-214: the keys, and identity, code and time stamped by every write.
func TestStateFileStampsEveryWrite(t *testing.T) {
	file, clk, home := newStateFile(t)
	if err := file.Update(func(s *RuntimeState) { s.GatewayState = "running"; s.PIDRecord = PIDRecord{PID: 1}; s.CodeSHA = "x" }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(home, StateFileName))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"kind": "hermes-gateway", "pid": float64(os.Getpid()), "hermes_home": home, "updated_at": "2026-01-02T03:04:05.000000Z",
		"code_sha": "c0de", "revision": "1f3c9ab", "gateway_state": "running", "restart_requested": false, "active_agents": 0.0, "active_work": 0.0,
	} {
		if members[key] != want {
			t.Errorf("%s is %v, want %v", key, members[key], want)
		}
	}
	for _, key := range []string{"argv", "start_time", "session_store", "platforms"} {
		if _, ok := members[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	if _, ok := members["served_profiles"]; ok {
		t.Error("a single-profile gateway has served_profiles")
	}
	clk.SetTime(clk.Now().Add(time.Minute))
	if err := file.Update(func(s *RuntimeState) { s.ServedProfiles = []string{"default", "ops"} }); err != nil {
		t.Fatal(err)
	}
	got, ok := ReadState(home)
	if !ok || got.UpdatedAt != "2026-01-02T03:05:05.000000Z" || got.GatewayState != "running" || !slices.Equal(got.ServedProfiles, []string{"default", "ops"}) || got.Process() != NewPIDRecord(home, nil).Process() {
		t.Errorf("%+v, %v", got, ok)
	}
	if info, err := os.Stat(filepath.Join(home, StateFileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// G-214: older than 120 s, or unreadable, is stale.
func TestStateStaleAt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tc := range []struct {
		updated string
		want    bool
	}{
		{stamp(now), false},
		{stamp(now.Add(-120 * time.Second)), false},
		{stamp(now.Add(-120*time.Second - time.Millisecond)), true},
		{"2026-01-02T04:04:05.5+01:00", false},
		{stamp(now.Add(time.Second)), false},
		{"yesterday", true},
		{"", true},
	} {
		if got := (RuntimeState{UpdatedAt: tc.updated}).StaleAt(now); got != tc.want {
			t.Errorf("%q: %v", tc.updated, got)
		}
	}
}

func TestParseState(t *testing.T) {
	for data, want := range map[string]bool{
		`{"kind":"hermes-gateway","pid":3,"gateway_state":"running"}`:                  true,
		"\xef\xbb\xbf" + `{"kind":"hermes-gateway","pid":3,"gateway_state":"running"}`: true,
		`{"kind":"hermes-gateway","pid":"3"}`:                                          false,
		`{"kind":"hermes-gateway","pid":3,"platforms":[]}`:                             false,
		`{"kind":"hermes-gateway","pid":3`:                                             false,
		``:                                                                             false,
	} {
		if got, ok := ParseState([]byte(data)); ok != want || (ok && got.PID != 3) {
			t.Errorf("%q: %+v, %v", data, got, ok)
		}
	}
}

// G-214, G-333: platform keys, their writer, and what goes with a profile.
func TestPlatformStates(t *testing.T) {
	file, _, home := newStateFile(t)
	for _, p := range [][2]string{{"default", "slack"}, {"ops", "slack"}, {"ops", "telegram"}, {"opsy", "slack"}} {
		if err := file.SetPlatform(p[0], p[1], PlatformState{State: "connected", WriterPID: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.DropProfile("ops"); err != nil {
		t.Fatal(err)
	}
	got, _ := ReadState(home)
	if len(got.Platforms) != 2 {
		t.Errorf("platforms %v", got.Platforms)
	}
	for _, key := range []string{"slack", "opsy:slack"} {
		if p, ok := got.Platforms[key]; !ok || p.WriterPID != os.Getpid() || p.WriterStartTime != got.StartTime || p.UpdatedAt == "" {
			t.Errorf("%s: %+v, %v", key, p, ok)
		}
	}
}

// A reader never sees half a record, and a snapshot is nobody else's to change.
func TestStateFileIsReplacedAtOnce(t *testing.T) {
	file, _, home := newStateFile(t)
	if err := file.SetPlatform("default", "slack", PlatformState{}); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 25 {
				if err := file.Update(func(s *RuntimeState) { s.ActiveWork++ }); err != nil {
					t.Error(err)
				}
				file.Snapshot().Platforms["x"] = PlatformState{}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if _, ok := ReadState(home); !ok {
			t.Fatal("caught a torn record")
		}
	}
	if got, _ := ReadState(home); got.ActiveWork != 100 || len(got.Platforms) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestStateFileThatCannotBeWritten(t *testing.T) {
	file, _, home := newStateFile(t)
	path := filepath.Join(home, StateFileName)
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustContain(t, file.Update(func(s *RuntimeState) { s.ActiveAgents = 3 }), StateFileName)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := file.Update(func(*RuntimeState) {}); err != nil {
		t.Fatal(err)
	}
	if got, _ := ReadState(home); got.ActiveAgents != 3 {
		t.Errorf("a change that could not be written was lost: %+v", got)
	}
}
