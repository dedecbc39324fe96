package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// command is one shell command to run.
type command struct {
	line, dir string
	environ   []string
	// marker is the NAME=value in environ that no other command has.
	marker  string
	orphans *Orphans
	// timeout ends the command; 0 means never.
	timeout time.Duration
	out     io.Writer
	// stdin is given to the command and closed here; nil means no input.
	stdin *os.File
	// started is told the number of the process; nil means nobody is.
	started func(pid int)
}

// ending is how a command ended.
type ending struct {
	exitCode            int
	signal              string
	timedOut, cancelled bool
	// leftovers were still running when the shell exited by itself and have
	// been killed; survivors could not be killed.
	leftovers, survivors int
}

// drainGrace is how long output is still read after the whole tree is gone.
// Only a process that could not be found can keep the pipe open that long.
const drainGrace = 2 * time.Second

// runCommand runs c to its end and leaves none of its processes behind. It
// returns an error when the command could not be started.
func runCommand(ctx context.Context, clk clock.WithTicker, c command) (ending, error) {
	if c.stdin != nil {
		defer c.stdin.Close()
	}
	if err := ctx.Err(); err != nil {
		return ending{cancelled: true}, nil // told in the ending
	}
	read, write, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", c.line)
	cmd.Dir, cmd.Env = c.dir, c.environ
	// The same file twice makes one open file description: the order of the
	// two streams is the order of the writes.
	cmd.Stdout, cmd.Stderr = write, write
	// A session of its own has no controlling terminal, so that nothing can
	// wait for a password, and is a process group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.stdin != nil {
		cmd.Stdin = c.stdin
	}
	var timedOut <-chan time.Time
	if c.timeout > 0 {
		timer := clk.NewTimer(c.timeout)
		defer timer.Stop()
		timedOut = timer.C()
	}
	span := c.orphans.begin(c.marker)
	defer c.orphans.end(span)
	err = cmd.Start()
	write.Close()
	if c.stdin != nil {
		c.stdin.Close() // or the command's writers would never see its end
	}
	if err != nil {
		return ending{}, fmt.Errorf("cannot start the command: %w", err)
	}
	if c.started != nil {
		c.started(cmd.Process.Pid)
	}
	tree := newTree(cmd.Process.Pid, span, c, read)
	exited := background(func() error { return awaitExit(cmd) })
	copied := background(func() error { return drain(c.out, read) })

	var end ending
	select {
	case <-exited.done:
	case <-ctx.Done():
		end.cancelled = true
	case <-timedOut:
		end.timedOut = true
	}
	killed, survivors := tree.kill()
	end.survivors = survivors
	if !end.cancelled && !end.timedOut {
		end.leftovers = killed
	}
	// A deadline on the pipe, not on the wait: the copy ends at the end of
	// file, which comes at once when every writer is gone.
	_ = read.SetReadDeadline(time.Now().Add(drainGrace))
	exited.wait()
	// Its error repeats the exit state, or says that awaitExit has waited.
	_ = cmd.Wait()
	copied.wait()
	end.read(cmd.ProcessState)
	return end, nil
}

func (e *ending) read(state *os.ProcessState) {
	if state == nil {
		e.exitCode = -1
		return
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.signal = ws.Signal().String()
		return
	}
	e.exitCode = state.ExitCode()
}

// drain copies until the end of file or the read deadline.
func drain(w io.Writer, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// task is a function that runs beside the caller. Its panic is raised again
// where the caller waits, so that the profile boundary sees it.
type task struct {
	done     chan struct{}
	panicked any
}

func background(f func() error) *task {
	t := &task{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer func() { t.panicked = recover() }()
		_ = f()
	}()
	return t
}

func (t *task) wait() {
	<-t.done
	if t.panicked != nil {
		panic(t.panicked)
	}
}
