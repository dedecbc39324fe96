package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// runChild is the helper process. It prints "ready" once it holds the store.
func runChild(role string, args []string) int {
	ctx := context.Background()
	if role == "foreign" {
		return runForeign(args[0], args[1])
	}
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
	case "index":
		return indexSteps(ctx, s)
	case "write":
		return writeForever(ctx, s, args[1])
	case "compact":
		return compactForever(ctx, s)
	}
	return 2
}

// runForeign is another program with the database open: it knows nothing of the store's lock. It runs one statement
// and keeps the transaction open until the parent lets go.
func runForeign(path, statement string) int {
	other, err := openDB(path, 1, url.Values{"_txlock": {"immediate"}})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	tx, err := other.Begin()
	if err == nil {
		_, err = tx.Exec(statement)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := errors.Join(tx.Commit(), other.Close()); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
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

// letGo ends a helper that waits for it and expects it to have done well.
func (c *child) letGo(t *testing.T) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
