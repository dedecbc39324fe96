package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/host"
)

// childVariable turns the test binary into a gateway that was started by hand for the home it names.
const childVariable = "HERMES_GATEWAY_TEST_CHILD"

func TestMain(m *testing.M) {
	if home := os.Getenv(childVariable); home != "" {
		os.Exit(runChild(home))
	}
	goleak.VerifyTestMain(m)
}

// runChild serves by hand as a supervised process, says when it serves, and ends with the code of what happened.
func runChild(home string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := byHandOptions(home, os.Getenv("HERMES_GATEWAY_LOCK_DIR"))
	o.TickEvery, _ = time.ParseDuration(os.Getenv(tickVariable))
	o.ByHand.Warn = func(line string) { fmt.Println("warning:", line) }
	served := make(chan struct{})
	go func() {
		defer close(served)
		for ctx.Err() == nil {
			if id, err := host.NewClient(home).Identify(ctx); err == nil && id.PID == os.Getpid() {
				fmt.Println("serving")
				return
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	if os.Getenv(againVariable) == "" {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil { // the starting gun
			return 3
		}
	}
	asked, restart := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() { <-asked; restart <- struct{}{} }()
	o.Restart = restart
	if fd, err := strconv.Atoi(os.Getenv(apiVariable)); err == nil {
		o.InheritedAPI = os.NewFile(uintptr(fd), "api")
	}
	err := RunByHand(ctx, o, Start{Supervised: true})
	var parted *Parted
	var again *Restart
	var refusal *Refusal
	switch {
	case errors.As(err, &parted):
		fmt.Println(strings.Join(parted.Lines, "; "))
		return parted.Code
	case errors.As(err, &refusal):
		fmt.Println(refusal.Error())
		return refusal.Code
	case errors.As(err, &again):
		return follow(again)
	case err != nil:
		fmt.Println(err)
		return 1
	}
	return 0
}

// apiVariable numbers the API socket of the run before.
const apiVariable = "HERMES_GATEWAY_TEST_API_FD"

// follow makes this process the next run, as cmd/hermes does.
func follow(r *Restart) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	fd := r.API.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err != nil {
		return 1
	}
	if err := errors.Join(os.Setenv(apiVariable, strconv.Itoa(int(fd))), os.Setenv(againVariable, "1")); err != nil {
		return 1
	}
	fmt.Println(syscall.Exec(self, os.Args, os.Environ()))
	return 1
}

// againVariable says that the starting gun was heard already.
const againVariable = "HERMES_GATEWAY_TEST_AGAIN"

func byHandOptions(home, locks string) Options {
	return Options{
		Home: home, Namespace: "default", Name: "default", RunID: fmt.Sprintf("run-%d-%d", os.Getpid(), time.Now().UnixNano()), LockDir: locks, TempDir: os.TempDir(),
		Supervisor: host.SupervisorExternal, Clock: clock.RealClock{}, Log: logr.Discard(), ByHand: &ByHand{}, DrainTimeout: 30 * time.Second,
	}
}

// child is one such process.
type child struct {
	cmd   *exec.Cmd
	lines chan string
	code  chan int
	gun   *os.File
}

func startChild(t *testing.T, home, locks string) *child {
	t.Helper()
	c := &child{lines: make(chan string, 64), code: make(chan int, 1)}
	gunRead, gun, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.gun = gun
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), childVariable+"="+home, "HERMES_GATEWAY_LOCK_DIR="+locks)
	c.cmd.Stdin = gunRead
	out, err := c.cmd.StdoutPipe()
	if err := errors.Join(err, c.cmd.Start(), gunRead.Close()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
		close(c.lines)
		_ = c.cmd.Wait()
		c.code <- c.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = gun.Close()
		<-done
	})
	return c
}

func (c *child) fire(t *testing.T) {
	t.Helper()
	if _, err := c.gun.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
}

// await reads lines until one contains want; the lines before it are returned too.
func (c *child) await(t *testing.T, want string) []string {
	t.Helper()
	var seen []string
	for line := range c.lines {
		seen = append(seen, line)
		if strings.Contains(line, want) {
			return seen
		}
	}
	t.Fatalf("ended without %q: %q", want, seen)
	return nil
}

// end asks the process to stop and returns its exit code.
func (c *child) end(t *testing.T) int {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return c.wait(t)
}

func (c *child) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-c.code:
		return code
	case <-time.After(30 * time.Second):
		t.Fatal("does not end")
		return -1
	}
}

func hostRoot(t *testing.T, flag string) (root, locks string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	root = filepath.Join(dir, "r")
	makeProfile(t, root, "default", flag)
	makeProfile(t, root, "coder", "{}\n")
	makeProfile(t, root, "ops", "{}\n")
	return root, filepath.Join(dir, "locks")
}

// rounds of the race; 100 are the acceptance, fewer in a short run.
func rounds() int {
	if testing.Short() {
		return 5
	}
	return 100
}

// TestFourAtOnce: four gateways that start at one instant, one for each of three profiles and one twice. Exactly one
// serves, the others end with 75 because a supervisor started them, and nothing of them is left behind.
func TestFourAtOnce(t *testing.T) {
	for round := range rounds() {
		root, locks := hostRoot(t, "gateway: {multiplex_profiles: true}\n")
		homes := []string{root, root, filepath.Join(root, "profiles", "coder"), filepath.Join(root, "profiles", "ops")}
		children := make([]*child, len(homes))
		for i, h := range homes {
			children[i] = startChild(t, h, locks)
		}
		for _, c := range children {
			c.fire(t)
		}
		var servers []*child
		for _, c := range children {
			if line := <-c.lines; line == "serving" {
				servers = append(servers, c)
				continue
			}
			if code := c.wait(t); code != ExitTemporary {
				t.Fatalf("round %d: a loser ended with %d, want 75", round, code)
			}
		}
		if len(servers) != 1 {
			t.Fatalf("round %d: %d gateways serve, want 1", round, len(servers))
		}
		if code := servers[0].end(t); code != 0 {
			t.Fatalf("round %d: the gateway ended with %d", round, code)
		}
		if _, err := os.Stat(filepath.Join(locks, "host-gateway.json")); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("round %d: T-020 the record is left: %v", round, err)
		}
	}
}

// TestLostHostLock is T-014 and T-017 with real processes.
func TestLostHostLock(t *testing.T) {
	t.Run("T-014 owner multiplexes", func(t *testing.T) {
		root, locks := hostRoot(t, "gateway: {multiplex_profiles: true}\n")
		owner := startChild(t, root, locks)
		owner.fire(t)
		owner.await(t, "serving")
		// Past the decision, straight at the lock: as a gateway does that lost a race at boot.
		o := byHandOptions(filepath.Join(root, "profiles", "coder"), locks)
		err := Run(t.Context(), o)
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Code != ExitTemporary {
			t.Fatalf("Run = %v, want a refusal with 75", err)
		}
		for _, want := range []string{fmt.Sprint("pid ", owner.cmd.Process.Pid), "hermes gateway migrate --multiplex", "--replace", "--force"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	})
	t.Run("T-017 owner serves only its own profile", func(t *testing.T) {
		root, locks := hostRoot(t, "{}\n")
		makeProfile(t, root, "ops", "gateway: {standalone: true}\n")
		owner := startChild(t, filepath.Join(root, "profiles", "ops"), locks)
		owner.fire(t)
		owner.await(t, "serving")
		beside := startChild(t, root, locks)
		beside.fire(t)
		if lines := beside.await(t, "serving"); !strings.Contains(strings.Join(lines, "\n"), "migrate --multiplex") {
			t.Errorf("no hint to converge: %q", lines)
		}
	})
}

// TestServedSetIsLive is T-067 and G-330: a profile that appears is served at the next look, one that is parked is let go,
// and the others are not touched.
func TestServedSetIsLive(t *testing.T) {
	root, locks := hostRoot(t, "gateway: {multiplex_profiles: true}\n")
	o := byHandOptions(root, locks)
	o.ByHand.Rescan = 20 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	client := host.NewClient(root)
	serves := func(want ...string) {
		t.Helper()
		var last []string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if id, err := client.Identify(ctx); err == nil {
				if last = id.Served(); slices.Equal(last, want) {
					return
				}
			}
			<-time.After(5 * time.Millisecond)
		}
		t.Fatalf("serves %v, want %v", last, want)
	}
	serves("coder", "default", "ops")
	added := makeProfile(t, root, "new", "{}\n")
	serves("coder", "default", "new", "ops")
	write(t, filepath.Join(added.Home, ParkedFileName), "")
	serves("coder", "default", "ops")
	if err := client.ServeProfile(ctx, "new"); err == nil {
		t.Error("a parked profile was served")
	}
	if err := os.Remove(filepath.Join(added.Home, ParkedFileName)); err != nil {
		t.Fatal(err)
	}
	if err := client.ServeProfile(ctx, "new"); err != nil {
		t.Error(err)
	}
	if err := client.UnserveProfile(ctx, "default"); err == nil {
		t.Error("G-334: the launch profile was unserved")
	}
	if err := os.RemoveAll(filepath.Join(root, "profiles", "ops")); err != nil {
		t.Fatal(err)
	}
	serves("coder", "default", "new")
	rescan, err := client.RescanProfiles(ctx)
	if err != nil || !rescan.Rescanned || rescan.Multiplex != nil {
		t.Errorf("rescan %+v %v", rescan, err)
	}
}

// TestDeclaredGatewayIsRespected: a declared gateway keeps its record inside its home; a start by hand finds it there,
// and --replace does not end it, because its operator would start it again.
func TestDeclaredGatewayIsRespected(t *testing.T) {
	root, locks := hostRoot(t, "{}\n")
	declared := byHandOptions(root, LockDir(root))
	declared.ByHand, declared.AdoptExistingHome = nil, true
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, declared) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for {
		if _, err := host.NewClient(root).Identify(ctx); err == nil {
			break
		}
		<-time.After(2 * time.Millisecond)
	}
	// The declared gateway is this very process, which a decision must not take for another one.
	r, err := DeclaredRendezvous(root, clock.RealClock{}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	other := &attach.Prober{Rendezvous: mustRendezvous(t, locks), Declared: r, Clock: clock.RealClock{}, Log: logr.Discard()}
	for over := time.Now().Add(10 * time.Second); ; <-time.After(2 * time.Millisecond) {
		owner, served := other.Probe(ctx, true)
		if owner != nil && owner.Declared && served.Known {
			break
		}
		if time.Now().After(over) {
			t.Fatalf("owner %+v served %+v", owner, served)
		}
	}
	if err := host.NewClient(root).ServeProfile(ctx, "coder"); err == nil || !strings.Contains(err.Error(), "spec.suspended") {
		t.Errorf("a declared gateway served a profile by hand: %v", err)
	}
}

func mustRendezvous(t *testing.T, dir string) *host.Rendezvous {
	t.Helper()
	r, err := host.NewRendezvous(host.RendezvousConfig{Dir: dir, Role: host.RoleGateway, UID: os.Getuid(), Clock: clock.RealClock{}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
