package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"
)

// helperVariable turns the test binary into a helper process with the named role.
const helperVariable = "HERMES_HOST_TEST_HELPER"

func TestMain(m *testing.M) {
	switch role := os.Getenv(helperVariable); role {
	case "":
		goleak.VerifyTestMain(m)
	case "claimant":
		runClaimant(os.Stdin, os.Stdout)
	default:
		fmt.Fprintf(os.Stderr, "unknown helper role %q\n", role)
		os.Exit(2)
	}
}

// command is one line a test sends to a claimant; reply is the line it answers with.
type command struct {
	Do, Dir, Home, Token string
}

type reply struct {
	Outcome   string
	Err       string
	HolderPID int
}

// runClaimant obeys commands until its input ends or a signal tells it to. It is a real process that holds real locks.
func runClaimant(in io.Reader, out io.Writer) {
	var rendezvous *Rendezvous
	var home *HomeClaim
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		answer := reply{}
		switch c.Do {
		case "claim":
			r, err := NewRendezvous(RendezvousConfig{Dir: c.Dir, Role: RoleGateway, UID: os.Getuid(), Clock: clock.RealClock{}, Log: logr.Discard()})
			if err != nil {
				answer.Err = err.Error()
				break
			}
			rendezvous = r
			// The real order of a gateway: the record goes first, then the process drains and clears.
			r.RetractOnSignal(func(os.Signal) {
				if err := r.Clear(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(3)
				}
				os.Exit(0)
			}, syscall.SIGTERM)
			answer = describe(r.Claim(Offer{Home: c.Home, Token: c.Token}))
		case "clear":
			if err := rendezvous.Clear(); err != nil {
				answer.Err = err.Error()
			}
		case "claim-home":
			result := ClaimHome(c.Home, NewPIDRecord(c.Home, os.Args), logr.Discard())
			home = result.Claim
			answer.Outcome = result.Outcome.String()
			if result.Err != nil {
				answer.Err = result.Err.Error()
			}
		case "release-home":
			if err := home.Release(); err != nil {
				answer.Err = err.Error()
			}
		}
		line, err := json.Marshal(answer)
		if err != nil {
			os.Exit(2)
		}
		fmt.Fprintln(out, string(line))
	}
}

func describe(result ClaimResult) reply {
	answer := reply{Outcome: result.Outcome.String()}
	if result.Err != nil {
		answer.Err = result.Err.Error()
	}
	if result.Holder != nil {
		answer.HolderPID = result.Holder.PID
	}
	return answer
}

// helper is a running helper process.
type helper struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	ended bool
}

func startHelper(t *testing.T, role string) *helper {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), executable)
	cmd.Env = append(os.Environ(), helperVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{t: t, cmd: cmd, in: in, lines: bufio.NewScanner(out)}
	t.Cleanup(h.end)
	return h
}

func (h *helper) pid() int { return h.cmd.Process.Pid }

func (h *helper) send(c command) {
	h.t.Helper()
	line, err := json.Marshal(c)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := fmt.Fprintln(h.in, string(line)); err != nil {
		h.t.Fatalf("helper %d is gone: %v", h.pid(), err)
	}
}

func (h *helper) receive() reply {
	h.t.Helper()
	if !h.lines.Scan() {
		h.t.Fatalf("helper %d ended without an answer: %v", h.pid(), h.lines.Err())
	}
	var r reply
	if err := json.Unmarshal(h.lines.Bytes(), &r); err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *helper) do(c command) reply {
	h.t.Helper()
	h.send(c)
	return h.receive()
}

// signalAndWait sends a signal and reaps the process; it returns the exit code, or -1 when the signal ended it.
func (h *helper) signalAndWait(sig os.Signal) int {
	h.t.Helper()
	if err := h.cmd.Process.Signal(sig); err != nil {
		h.t.Fatal(err)
	}
	h.ended = true
	_ = h.cmd.Wait()
	return h.cmd.ProcessState.ExitCode()
}

func (h *helper) end() {
	if h.ended {
		return
	}
	h.ended = true
	_ = h.in.Close()
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// newRendezvous returns a rendezvous in dir with real processes and the real clock.
func newRendezvous(t *testing.T, dir string) *Rendezvous {
	t.Helper()
	r, err := NewRendezvous(RendezvousConfig{Dir: dir, Role: RoleGateway, DefaultRoot: "/default/root", UID: os.Getuid(), Clock: clock.RealClock{}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Clear(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

func mustContain(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("error %v does not contain %q", err, part)
	}
}
