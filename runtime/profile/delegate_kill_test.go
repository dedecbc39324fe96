package profile

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// delegateEnv makes the test binary a gateway's worth of a profile that delegates and then waits to be killed.
const delegateEnv = "PROFILE_TEST_DELEGATE"

// runDelegating serves the profile "alice" below root, delegates, and reports what the row holds until it is killed.
func runDelegating(root string) int {
	ctx := context.Background()
	paths, err := home.ForProfile(root, "alice")
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	r := Open(Options{Paths: paths, RunID: "killed", Clock: clock.RealClock{}, Log: logr.Discard(), Retries: llm.Policy{}})
	if _, err := r.Turn(ctx, agent.Turn{SessionID: "s1", Source: "cli", UserText: "go"}, nil); err != nil {
		fmt.Println("error", err)
		return 1
	}
	for range time.Tick(5 * time.Millisecond) { // it reports until it is killed
		rows, err := r.Delegations(ctx, "s1")
		if err != nil || len(rows) != 1 {
			fmt.Println("error", err, len(rows))
			return 1
		}
		fmt.Println("recorded", strings.Count(string(rows[0].Result), `"status":"completed"`), rows[0].State)
	}
	return 0
}

// killDelegating delegates a batch of three in another process and kills it with SIGKILL once two have reported.
func killDelegating(t *testing.T, m *fakemodel.Server, root string) {
	t.Helper()
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	m.Respond(answers{
		"go":     delegates(`{"tasks":[{"goal":"one"},{"goal":"never"},{"goal":"three"}],"async":true}`),
		"never":  fakemodel.Turn{Gate: gate},
		"notice": fakemodel.Text("two of three"),
	}.respond)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), delegateEnv+"="+root)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Error(lines.Text())
			break
		}
		if lines.Text() == "recorded 2 running" {
			break
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// T-256: the owner is killed in the middle of a batch with two of three results recorded. The next start tells the
// session: status unknown, two real results, one unknown. It tells it once.
func TestT256KilledMidBatch(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	spec := withConfig(m, nil)
	profilehome.Write(t, root, "alice", spec)
	killDelegating(t, m, root)

	r := openRig(t, m, root, "alice", spec)
	if row := r.delegation("s1"); row.State != "running" || row.OwnerPID == os.Getpid() {
		t.Fatalf("%+v", row)
	}
	r.runtime.CheckStore(ctx(t))
	r.untilDelivery("s1", store.DeliveryDelivered)
	row := r.delegation("s1")
	if row.State != delegation.StatusUnknown || !row.CompletedAt.IsZero() {
		t.Errorf("T-256 %+v", row)
	}
	rows := r.rows("s1")
	notice := rows[4].Content
	for _, want := range []string{"answer to one", "answer to three", "## Task 2 of 3: never\nStatus: unknown"} {
		if !strings.Contains(notice, want) {
			t.Errorf("T-256 %q is not in %s", want, notice)
		}
	}
	if strings.Count(notice, "Status: completed") != 2 || rows[5].Content != "two of three" || len(rows) != 6 {
		t.Errorf("T-256 %d rows, %s", len(rows), notice)
	}
	r.runtime.CheckStore(ctx(t))
	must(t, r.runtime.Close(ctx(t)))
	if again := openRig(t, m, root, "alice", spec); len(again.rows("s1")) != 6 {
		t.Errorf("T-256 told again: %d rows", len(again.rows("s1")))
	}
}

// T-255 at the start of a gateway: what ended more than 48 hours ago is dropped and still readable.
func TestT255OldOnesAreDropped(t *testing.T) {
	for name, tt := range map[string]struct {
		later time.Duration
		state string
	}{
		"T-255 two days":              {172_800 * time.Second, store.DeliveryDelivered},
		"T-255 two days and a second": {172_801 * time.Second, store.DeliveryDropped},
	} {
		t.Run(name, func(t *testing.T) {
			m, root := startModel(t), t.TempDir()
			spec := withConfig(m, nil)
			began := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
			seedDelegation(t, profilehome.Write(t, root, "alice", spec).Store(), began)
			r := openRig(t, m, root, "alice", spec, func(o *Options) { o.Clock = clocktesting.NewFakeClock(began.Add(tt.later)) })
			r.runtime.CheckStore(ctx(t))
			r.untilDelivery("s1", tt.state)
			if row := r.delegation("s1"); !strings.Contains(string(row.Event), "the result") {
				t.Errorf("%+v", row)
			}
		})
	}
}

// seedDelegation makes a store with a session and a delegation of it that ended at a time and was not told.
func seedDelegation(t *testing.T, path string, at time.Time) {
	t.Helper()
	c := ctx(t)
	s, err := store.Open(c, path, store.Options{Clock: clocktesting.NewFakePassiveClock(at)})
	must(t, err)
	_, _, err = s.EnsureSession(c, store.Session{ID: "s1", Source: "cli"})
	must(t, err)
	row := store.Delegation{ID: "deleg_old", ParentSessionID: "s1", OriginSessionID: "s1", DispatchedAt: at, CompletedAt: at}
	must(t, s.DispatchDelegation(c, row, 1))
	must(t, finishRow(s, row, delegation.Dispatch{Tasks: []delegation.Task{{Goal: "g"}}}, []delegation.Result{{Status: "completed", Summary: "the result"}}))
	must(t, s.Close())
}

// A gateway that was killed between the row of the notice and the end of the claim has told already.
func TestToldOnceAcrossACrash(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	spec := withConfig(m, nil)
	path := profilehome.Write(t, root, "alice", spec).Store()
	seedDelegation(t, path, time.Now())
	s, err := store.Open(ctx(t), path, store.Options{})
	must(t, err)
	_, err = s.Append(ctx(t), "s1", store.Message{Role: "user", Content: "the notice", PlatformMessageID: delegation.MessageID("deleg_old")})
	must(t, err)
	must(t, s.Close())
	r := openRig(t, m, root, "alice", spec)
	r.runtime.CheckStore(ctx(t))
	r.untilDelivery("s1", store.DeliveryDelivered)
	if n := len(m.Requests()); n != 0 || r.roles("s1") != "u" {
		t.Errorf("told twice: %d requests, %s", n, r.roles("s1"))
	}
}

// S-213: a delivery that could not be tried is nobody's after a minute, costs no attempt, and is tried again.
func TestS213SweepTriesAgain(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	spec := withConfig(m, nil)
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	seedDelegation(t, profilehome.Write(t, root, "alice", spec).Store(), now)
	broken := withConfig(m, map[string]any{"delegation": map[string]any{"max_iterations": -1}})
	fake := clocktesting.NewFakeClock(now.Add(time.Hour))
	r := openRig(t, m, root, "alice", broken, func(o *Options) { o.Clock, o.StoreIdle = fake, time.Hour })
	r.runtime.CheckStore(ctx(t))
	armed := func() bool {
		r.runtime.courier.mu.Lock()
		defer r.runtime.courier.mu.Unlock()
		return r.runtime.courier.sweep != nil
	}
	until(t, "a sweep", armed)
	if row := r.delegation("s1"); row.DeliveryState != store.DeliveryPending || row.Attempts != 0 || row.Claim != "" {
		t.Fatalf("S-213 %+v", row)
	}
	r.rewrite(spec)
	r.runtime.Reload()
	fake.Step(delegation.SweepEvery)
	until(t, "the next sweep", armed)
	if row := r.delegation("s1"); row.DeliveryState != store.DeliveryPending {
		t.Errorf("S-213 after 30 s: %+v", row)
	}
	fake.Step(delegation.SweepEvery)
	r.untilDelivery("s1", store.DeliveryDelivered)
	if row := r.delegation("s1"); row.Attempts != 1 || r.roles("s1") != "ua" {
		t.Errorf("S-213 %+v, %s", row, r.roles("s1"))
	}
}
