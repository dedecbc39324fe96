package controlplane_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The target is 3 s on an idle machine; the test allows for a machine that also compiles.
const readyLimit = 20 * time.Second

func TestReadyServesAndStops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, round := range []string{"empty directory", "again"} {
		began := time.Now()
		s := start(t, dir)
		t.Logf("%s: ready after %s", round, time.Since(began).Round(time.Millisecond))
		if took := time.Since(began); took > readyLimit {
			t.Errorf("%s: ready after %s, want %s", round, took, readyLimit)
		}
		if _, err := clientset(t, restConfig(t, s)).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: default namespace: %v", round, err)
		}
		began = time.Now()
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("%s: stop: %v", round, err)
		}
		t.Logf("%s: stopped after %s", round, time.Since(began).Round(time.Millisecond))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: stopped after %s", round, took)
		}
	}
}

func TestStopDoesNotWaitForWatches(t *testing.T) {
	s := start(t, t.TempDir())
	w, err := clientset(t, restConfig(t, s)).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	began := time.Now()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Fatalf("stopped after %s with an open watch", took)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := start(t, dir)
	for _, path := range []string{s.Kubeconfig(), s.Layout().GatewayKubeconfig(), s.Layout().Lock()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", path, info.Mode().Perm())
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // a temporary file of an atomic write
		}
		want := os.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		// lumberjack, in the parent, makes the log.
		if path != s.Layout().Log() && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnexpectedEndIsAnError(t *testing.T) {
	s := start(t, t.TempDir())
	if err := s.Err(); err != nil {
		t.Fatalf("a running server has error %v", err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if s.Err() == nil {
		t.Fatal("a killed server has no error")
	}
}

func TestStandardInputEndStopsIt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary(t), "--data-dir", t.TempDir(), "--exit-with-parent")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); !strings.HasPrefix(line, "ready https://127.0.0.1:") {
		t.Fatalf("printed %q, %v", line, err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("did not end in order: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still runs 10 s after its standard input ended")
		_ = cmd.Process.Kill()
		<-ended
	}
}

func TestEndsWithItsParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentMode+"="+t.TempDir())
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	child, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, convErr); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("control plane %d is not there: %v", child, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	t.Cleanup(func() {
		if t.Failed() { // else it is gone, and its number may be somebody else's
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	})
	within(t, 10*time.Second, "the control plane ends after its parent was killed", func() (bool, error) {
		return gone(child), nil
	})
}

// gone reports that the process has ended; one that only waits to be reaped by init has.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestLongDataDirectory(t *testing.T) {
	// Longer than the 108 bytes of a Unix socket address.
	start(t, filepath.Join(t.TempDir(), strings.Repeat("long/", 40)))
}

func TestStopTwice(t *testing.T) {
	s := start(t, t.TempDir())
	for range 2 {
		if err := s.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
