package hostctl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/cmd/hermes/internal/service"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/home"
)

const multiplexes = "gateway: {multiplex_profiles: true}\n"

// TestStartAll is T-060: a live host gateway is reported with what runs beside it; nothing is started or ended.
func TestStartAll(t *testing.T) {
	g := newRig(t, multiplexes, "ops")
	g.write(filepath.Join(g.root, "profiles", "ops", "config.yaml"), "gateway: {standalone: true}\n")
	owner, beside := g.run("default"), g.run("ops", "--force")
	if err := g.host("default").StartAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(g.spawned) != 2 || !alive(owner) || !alive(beside) {
		t.Errorf("T-060: started %d, owner alive %t, beside alive %t", len(g.spawned), alive(owner), alive(beside))
	}
	g.says(fmt.Sprint("pid ", owner.PID), fmt.Sprint("pid ", beside.PID), "migrate --multiplex")
}

// TestRestartAll is T-061 to T-063.
func TestRestartAll(t *testing.T) {
	t.Run("T-061 the owner is another profile", func(t *testing.T) {
		g := newRig(t, multiplexes, "coder")
		owner := g.run("default")
		wantCode(t, g.host("coder").RestartAll(t.Context()), 78, "hermes gateway restart --all", fmt.Sprint(owner.PID))
		if !alive(owner) {
			t.Error("the owner was ended")
		}
	})
	t.Run("T-062 by the owner", func(t *testing.T) {
		g := newRig(t, multiplexes, "coder")
		before := g.run("default")
		if err := g.host("default").RestartAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := g.identify("default")
		if alive(before) || after.PID == before.PID || !slices.Contains(after.Served(), "coder") {
			t.Errorf("T-062: before alive %t, pid %d then %d, serves %v", alive(before), before.PID, after.PID, after.Served())
		}
	})
	t.Run("T-063 the owner ignores SIGTERM", func(t *testing.T) {
		g := newRig(t, multiplexes)
		before := g.run("default", "--deaf")
		h := g.host("default")
		h.KillAfter = 200 * time.Millisecond
		if killAfter != 5*time.Second {
			t.Error("a gateway is killed after another time than 5 s")
		}
		if err := h.RestartAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if alive(before) || g.identify("default").PID == before.PID {
			t.Error("T-063: the deaf gateway lives")
		}
	})
}

// TestKillIsGuarded: a recycled pid is not killed (G-213).
func TestKillIsGuarded(t *testing.T) {
	g := newRig(t, multiplexes)
	id := g.run("default")
	h := g.host("default")
	owner, _ := h.Own()
	owner.StartTime++
	if gone, err := h.signal(owner, 9); !gone || err != nil || !alive(id) {
		t.Errorf("signal = %t %v, alive %t", gone, err, alive(id))
	}
}

// TestParking is T-065 and G-284: stop parks, start serves again, the gateway and the other profiles go on.
func TestParking(t *testing.T) {
	g := newRig(t, multiplexes, "coder", "ops")
	owner := g.run("default")
	h := g.host("coder")
	if err := h.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(h.marker()); err != nil || !alive(owner) {
		t.Fatalf("T-065: marker %v, owner alive %t", err, alive(owner))
	}
	if served := g.identify("default").Served(); !slices.Equal(served, []string{"default", "ops"}) {
		t.Errorf("serves %v after coder was parked", served)
	}
	if r := h.Status(t.Context()); r.State != "parked" {
		t.Errorf("G-403: state %s", r.State)
	}
	// The marker survives a restart of the host, in the same process and anew.
	if err := g.host("default").Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := g.identify("default"); id.PID != owner.PID || id.RunID == owner.RunID || slices.Contains(id.Served(), "coder") {
		t.Errorf("G-289: restarted as %+v", id)
	}
	if err := g.host("coder").Start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if r := g.host("coder").Status(t.Context()); r.State != "served" || r.PID != owner.PID {
		t.Errorf("G-402: %+v", r)
	}
	if err := g.host("coder").Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(g.identify("default").Served(), "coder") {
		t.Error("G-284: restart of one profile left it unserved")
	}
	t.Run("unconfirmed is pending", func(t *testing.T) {
		if err := g.host("default").Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.host("coder").Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.says("once a gateway of this host runs")
	})
}

// TestNamedGuard is T-066 and G-273: nothing is installed or started for a named profile by accident.
func TestNamedGuard(t *testing.T) {
	g := newRig(t, multiplexes, "coder")
	h := g.host("coder")
	wantCode(t, NamedGuard("coder", h.HasOwnGateway(), false), 78, "--force")
	wantCode(t, h.Start(t.Context(), false), 78, "--force")
	if len(g.commands)+len(g.spawned) != 0 {
		t.Errorf("T-066: ran %v, started %v", g.commands, g.spawned)
	}
	if err := errors.Join(NamedGuard("coder", false, true), NamedGuard("default", false, false)); err != nil {
		t.Error(err)
	}
	if err := h.Services.Install(t.Context(), service.Spec{Home: h.Launch, Program: "/x"}); err != nil {
		t.Fatal(err)
	}
	if err := NamedGuard("coder", h.HasOwnGateway(), false); err != nil {
		t.Errorf("G-273: an installed service does not keep starting: %v", err)
	}
}

// TestMigrate is T-072, T-073 and the rules of G-286 and G-287.
func TestMigrate(t *testing.T) {
	spec := func(h *Host) service.Spec { return service.Spec{Home: h.Launch, Program: "/x", Scope: service.User} }
	t.Run("folds a living secondary", func(t *testing.T) {
		g := newRig(t, "model: x # kept\n", "ops")
		secondary := g.run("ops", "--force")
		h := g.host("default")
		plan, err := h.MigrationPlan(t.Context())
		if err != nil || plan.Done() || len(plan.Secondaries) != 1 || plan.Secondaries[0].PID != secondary.PID {
			t.Fatalf("plan %+v %v", plan, err)
		}
		if !alive(secondary) || exists(filepath.Join(g.root, manifestName)) {
			t.Fatal("the plan changed something")
		}
		if err := h.Migrate(t.Context(), plan, spec(h)); err != nil {
			t.Fatal(err)
		}
		if alive(secondary) || !slices.Contains(g.identify("default").Served(), "ops") || exists(filepath.Join(g.root, manifestName)) {
			t.Error("not folded, or unfinished")
		}
		text, _ := os.ReadFile(filepath.Join(g.root, "config.yaml"))
		if string(text) != "model: x # kept\ngateway:\n    multiplex_profiles: true\n" {
			t.Errorf("config %q", text)
		}
		if again, err := g.host("default").MigrationPlan(t.Context()); err != nil || !again.Done() {
			t.Errorf("G-286: not re-runnable: %+v %v", again, err)
		}
	})
	t.Run("T-072 a leftover unit is not done", func(t *testing.T) {
		g := newRig(t, multiplexes, "ops")
		h := g.host("ops")
		if err := h.Services.Install(t.Context(), spec(h)); err != nil {
			t.Fatal(err)
		}
		d := g.host("default")
		plan, err := d.MigrationPlan(t.Context())
		if err != nil || plan.Done() {
			t.Fatalf("plan %+v %v", plan, err)
		}
		d.Patience = 100 * time.Millisecond // the manager of this test starts nothing, so nothing comes up
		if err := d.fold(t.Context(), plan, spec(d)); err == nil {
			t.Error("a gateway that does not answer counts as migrated")
		}
		if d.Services.Installed("ops") || !d.Services.Installed("default") {
			t.Error("T-072: the unit is left, or the manager was not kept")
		}
	})
	t.Run("T-073 resumes from the manifest", func(t *testing.T) {
		g := newRig(t, multiplexes, "ops")
		secondary := g.run("ops", "--force")
		h := g.host("default")
		// A migration that died after it had set the flag: the manifest is there, the secondary lives.
		if err := (manifest{Secondaries: []Secondary{{Profile: "ops", PID: secondary.PID}}}).write(g.root); err != nil {
			t.Fatal(err)
		}
		g.write(filepath.Join(g.root, ".env"), "X_BOT_TOKEN=a\n")
		g.write(filepath.Join(g.root, "profiles", "ops", ".env"), "X_BOT_TOKEN=a\n")
		plan, err := h.MigrationPlan(t.Context())
		if err != nil || !plan.Unfinished || plan.Done() || len(plan.Blockers) != 0 {
			t.Fatalf("plan %+v %v", plan, err)
		}
		if err := h.Migrate(t.Context(), plan, spec(h)); err != nil {
			t.Fatal(err)
		}
		if alive(secondary) || exists(filepath.Join(g.root, manifestName)) {
			t.Error("T-073: not finished")
		}
	})
	t.Run("G-287 one credential twice", func(t *testing.T) {
		g := newRig(t, multiplexes, "ops")
		g.write(filepath.Join(g.root, ".env"), "X_BOT_TOKEN=a\n")
		g.write(filepath.Join(g.root, "profiles", "ops", ".env"), "X_BOT_TOKEN=a\n")
		if plan, err := g.host("default").MigrationPlan(t.Context()); err != nil || len(plan.Blockers) != 1 {
			t.Errorf("plan %+v %v", plan, err)
		}
	})
	t.Run("G-286 a failure is compensated", func(t *testing.T) {
		g := newRig(t, "{}\n", "ops")
		secondary := g.run("ops", "--force")
		h := g.host("default")
		plan, err := h.MigrationPlan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		failing := *h
		failing.Spawn = func(p home.Paths, args []string) error {
			if p.Name == home.DefaultProfile {
				return errors.New("no program")
			}
			return g.spawn(p, args)
		}
		if err := failing.Migrate(t.Context(), plan, spec(h)); err == nil {
			t.Fatal("no error")
		}
		ops := g.host("ops")
		if err := ops.awaitUp(t.Context(), secondary.RunID); err != nil || exists(filepath.Join(g.root, manifestName)) {
			t.Errorf("not put back: %v", err)
		}
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestDeclaredIsLeftAlone: the verbs do not touch a declared gateway, whose operator would undo what they do.
func TestDeclaredIsLeftAlone(t *testing.T) {
	g := newRig(t, multiplexes, "coder")
	locks := g.locks
	g.locks = gateway.LockDir(g.root) // where a declared gateway publishes itself
	id := g.run("default")
	g.locks = locks
	for _, profile := range []string{"default", "coder"} {
		h := g.host(profile)
		declared, err := gateway.DeclaredRendezvous(g.root, h.Clock, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		h.Prober.Declared = declared
		wantCode(t, h.Stop(t.Context()), 78, "hermes down")
		wantCode(t, h.Start(t.Context(), true), 78, "as declared")
		wantCode(t, h.Restart(t.Context()), 78, "as declared")
		wantCode(t, h.RestartAll(t.Context()), 78, "declared gateway")
		if err := h.StopAll(t.Context()); err != nil {
			t.Error(err)
		}
		if exists(h.marker()) || !alive(id) {
			t.Fatalf("marker %t, alive %t", exists(h.marker()), alive(id))
		}
	}
}
