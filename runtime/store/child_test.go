package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// runChild is the helper process. It prints "ready" once it holds the store.
func runChild(role string, args []string) int {
	ctx := context.Background()
	s, err := Open(ctx, args[0], Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if _, _, err := s.EnsureSession(ctx, Session{ID: "crash", Source: "cli"}); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready")
	switch role {
	case "hold":
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent lets go
		if err := s.Close(); err != nil {
			fmt.Println("error", err)
			return 1
		}
		return 0
	case "write":
		return writeForever(ctx, s, args[1])
	case "compact":
		return compactForever(ctx, s)
	}
	return 2
}

// writeForever appends numbered rows and prints each number once Append has acknowledged it.
func writeForever(ctx context.Context, s *Store, first string) int {
	n, err := strconv.Atoi(first)
	if err != nil {
		return 2
	}
	for ; ; n++ {
		if _, err := s.Append(ctx, "crash", Message{Role: "user", Content: strconv.Itoa(n)}); err != nil {
			fmt.Println("error", err)
			return 1
		}
		// One write call: the parent sees the whole line or none of it.
		if _, err := os.Stdout.WriteString("ack " + strconv.Itoa(n) + "\n"); err != nil {
			return 1
		}
	}
}

// child is a running helper process.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// startChild starts a helper and waits until it holds the store.
func startChild(t *testing.T, role string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
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
	c := &child{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	if !c.lines.Scan() || c.lines.Text() != "ready" {
		_ = cmd.Process.Kill()
		t.Fatalf("helper said %q instead of ready", c.lines.Text())
	}
	return c
}
