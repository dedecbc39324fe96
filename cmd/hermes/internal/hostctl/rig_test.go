package hostctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/service"
	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// childVariable turns the test binary into a gateway; its value is the rendezvous directory.
const childVariable = "HERMES_HOSTCTL_TEST_CHILD"

func TestMain(m *testing.M) {
	if locks := os.Getenv(childVariable); locks != "" {
		os.Exit(runChild(locks, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// runChild is `gateway run --home HOME [--replace] [--force]` of a supervised process; with --deaf it ignores SIGTERM.
func runChild(locks string, args []string) int {
	stop := []os.Signal{syscall.SIGTERM}
	if slices.Contains(args, "--deaf") {
		signal.Ignore(syscall.SIGTERM)
		stop = []os.Signal{syscall.SIGUSR2}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), stop...)
	defer cancel()
	asked, restart := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() { <-asked; restart <- struct{}{} }()
	h := &Host{Clock: clock.RealClock{}, Out: os.Stdout}
	err := gateway.RunByHand(ctx, gateway.Options{
		Home: args[3], Namespace: "default", Name: "default", RunID: fmt.Sprintf("run-%d-%d", os.Getpid(), time.Now().UnixNano()),
		LockDir: locks, TempDir: os.TempDir(), Restart: restart, Argv: os.Args,
		Supervisor: host.SupervisorExternal, Clock: clock.RealClock{}, Log: logr.Discard(),
		ByHand: &gateway.ByHand{Force: slices.Contains(args, "--force"), Rescan: 50 * time.Millisecond},
	}, gateway.Start{Supervised: true, Replace: slices.Contains(args, "--replace"), End: h.End})
	var parted *gateway.Parted
	var restarted *gateway.Restart
	switch {
	case errors.As(err, &restarted):
		self, _ := os.Executable()
		fmt.Println(syscall.Exec(self, os.Args, os.Environ()))
		return 1
	case errors.As(err, &parted):
		return parted.Code
	case err != nil:
		fmt.Println(err)
		return 1
	}
	return 0
}

// rig is a host with a default profile and named ones, and whatever gateways the test starts.
type rig struct {
	t           *testing.T
	root, locks string
	out         bytes.Buffer
	commands    []string
	installed   string
	spawned     []int
}

func newRig(t *testing.T, config string, profiles ...string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "hc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &rig{t: t, root: filepath.Join(dir, "r"), locks: filepath.Join(dir, "locks"), installed: filepath.Join(dir, "units")}
	g.write(filepath.Join(g.root, "config.yaml"), config)
	for _, p := range profiles {
		g.write(filepath.Join(g.root, "profiles", p, "config.yaml"), "{}\n")
	}
	return g
}

func (g *rig) write(path, text string) {
	g.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) paths(profile string) home.Paths {
	p, err := home.ForProfile(g.root, profile)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// host is the host as the verbs about a profile see it.
func (g *rig) host(profile string) *Host {
	r, err := host.NewRendezvous(host.RendezvousConfig{Dir: g.locks, Role: host.RoleGateway, UID: os.Getuid(), Clock: clock.RealClock{}, Log: logr.Discard()})
	if err != nil {
		g.t.Fatal(err)
	}
	return &Host{
		Launch: g.paths(profile), Rendezvous: r, Clock: clock.RealClock{}, Out: &g.out, Spawn: g.spawn, Patience: 20 * time.Second,
		Prober: &attach.Prober{Rendezvous: r, Clock: clock.RealClock{}, Log: logr.Discard()},
		Services: service.Manager{Kind: "systemd", Scope: service.User, Dir: g.installed, Run: func(_ context.Context, name string, args ...string) (string, error) {
			g.commands = append(g.commands, name+" "+strings.Join(args, " "))
			return "", errInactive(args)
		}},
	}
}

// errInactive answers is-active for a manager that runs nothing.
func errInactive(args []string) error {
	if slices.Contains(args, "is-active") {
		return errors.New("inactive")
	}
	return nil
}

func (g *rig) spawn(p home.Paths, args []string) error {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVariable+"="+g.locks)
	if err := cmd.Start(); err != nil {
		return err
	}
	g.spawned = append(g.spawned, cmd.Process.Pid)
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	g.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return nil
}

// run starts a gateway and waits until it answers.
func (g *rig) run(profile string, flags ...string) host.Identity {
	g.t.Helper()
	h := g.host(profile)
	if err := errors.Join(g.spawn(h.Launch, append([]string{"gateway", "run", "--home", h.Launch.Home}, flags...)), h.awaitUp(g.t.Context(), "")); err != nil {
		g.t.Fatal(err)
	}
	return g.identify(profile)
}

func (g *rig) identify(profile string) host.Identity {
	g.t.Helper()
	id, err := host.NewClient(g.paths(profile).Home).Identify(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	return id
}

func (g *rig) says(want ...string) {
	g.t.Helper()
	for _, w := range want {
		if !strings.Contains(g.out.String(), w) {
			g.t.Errorf("%q does not say %q", g.out.String(), w)
		}
	}
}

func wantCode(t *testing.T, err error, code int, words ...string) {
	t.Helper()
	var c *Coded
	if !errors.As(err, &c) || c.Code != code {
		t.Fatalf("got %v, want code %d", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func alive(id host.Identity) bool { return host.ProcessLiveness(id.Process()) != host.Dead }
