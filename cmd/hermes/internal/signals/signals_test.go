package signals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// stuckEnv makes the test binary a process that hears that it shall end and does not.
const stuckEnv = "HERMES_TEST_STUCK"

func TestMain(m *testing.M) {
	if mode := os.Getenv(stuckEnv); mode != "" {
		stuck(mode == "drains")
		os.Exit(0) // never the tests again: each would start the next
	}
	os.Exit(m.Run())
}

func stuck(drains bool) {
	ctx, stop := Once(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if drains {
		defer KeepTermination()()
	}
	released := make(chan struct{})
	context.AfterFunc(ctx, func() { close(released) }) // registered after the one of Once; the parent tries until it works
	fmt.Println("begun")
	<-released
	fmt.Println("asked")
	_, _ = io.Copy(io.Discard, os.Stdin) // not heeding ctx
	fmt.Println("ended by itself")
}

// TestSecondSignalKills a verb that does not heed the first one; a drain is cut short by Ctrl-C only.
func TestSecondSignalKills(t *testing.T) {
	for _, c := range []struct {
		mode          string
		first, second syscall.Signal
		killed        bool
	}{
		{"waits", syscall.SIGINT, syscall.SIGINT, true},
		{"waits", syscall.SIGTERM, syscall.SIGTERM, true},
		{"waits", syscall.SIGTERM, syscall.SIGINT, true},
		{"drains", syscall.SIGINT, syscall.SIGINT, true},
		{"drains", syscall.SIGTERM, syscall.SIGINT, true},
		{"drains", syscall.SIGTERM, syscall.SIGTERM, false},
		{"drains", syscall.SIGINT, syscall.SIGTERM, false},
	} {
		t.Run(fmt.Sprintf("%s %v %v", c.mode, c.first, c.second), func(t *testing.T) {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			child := exec.Command(exe)
			child.Env = append(os.Environ(), stuckEnv+"="+c.mode)
			stdin, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			expect := func(want string) {
				t.Helper()
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("it said %q, want %q (%v)", lines.Text(), want, lines.Err())
				}
			}
			expect("begun")
			if err := child.Process.Signal(c.first); err != nil {
				t.Fatal(err)
			}
			expect("asked")
			if !c.killed {
				for range 20 {
					if err := child.Process.Signal(c.second); err != nil {
						t.Fatal(err)
					}
				}
				if err := stdin.Close(); err != nil {
					t.Fatal(err)
				}
				expect("ended by itself")
				if err := child.Wait(); err != nil {
					t.Error(err)
				}
				return
			}
			ended := make(chan error, 1)
			go func() { ended <- child.Wait() }()
			killedBy(t, child, c.second, ended)
		})
	}
}

// killedBy sends a signal until the process has ended: the default comes back an instant after the first one.
func killedBy(t *testing.T, child *exec.Cmd, sig syscall.Signal, ended <-chan error) {
	t.Helper()
	for tries := 0; ; tries++ {
		again := time.NewTimer(20 * time.Millisecond)
		defer again.Stop()
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != sig {
				t.Errorf("ended with %v", err)
			}
			return
		case <-again.C:
		}
		if tries == 500 {
			_ = child.Process.Kill()
			t.Fatalf("%v does not end it: %v", sig, <-ended)
		}
		_ = child.Process.Signal(sig) // it may have ended by now
	}
}
