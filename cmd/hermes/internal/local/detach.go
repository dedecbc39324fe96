package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

const (
	// ReadyFD is the descriptor through which a hermes up in the background says that it is healthy.
	ReadyFD = 3

	readyLine    = "ready"
	maxLog       = 16 << 20
	lastLogLines = 8
)

// Background starts a program in a session of its own, its output going to a log file, and returns its pid
// once it has said that it is healthy. When it ends first, the error has its exit code and the last lines of
// its log.
func Background(ctx context.Context, program string, args []string, logPath string) (pid int, err error) {
	log, start, err := openLog(logPath)
	if err != nil {
		return 0, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer read.Close() //nolint:errcheck // read to its end or no longer of interest
	child := exec.Command(program, args...)
	child.Stdout, child.Stderr = log, log
	child.ExtraFiles = []*os.File{write} // descriptor 3
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = child.Start()
	_ = write.Close()
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", program, err)
	}
	healthy, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		if lines := bufio.NewScanner(read); lines.Scan() && lines.Text() == readyLine {
			close(healthy)
		}
	}()
	go func() { ended <- child.Wait() }()
	select {
	case <-healthy:
		return child.Process.Pid, nil
	case err := <-ended:
		return 0, died(err, logPath, start)
	case <-ctx.Done():
		// How it ends does not matter any more: it was asked to.
		if err := errors.Join(child.Process.Signal(syscall.SIGTERM), <-ended); err != nil && ctx.Err() == nil {
			return 0, err
		}
		return 0, ctx.Err()
	}
}

// SayReady tells the process that started this one in the background that it is healthy.
func SayReady(pipe io.WriteCloser) error {
	_, err := io.WriteString(pipe, readyLine+"\n")
	return errors.Join(err, pipe.Close())
}

// OpenReadyPipe takes over the descriptor that Background passed. No child of this process may inherit it.
func OpenReadyPipe() *os.File {
	syscall.CloseOnExec(ReadyFD)
	return os.NewFile(ReadyFD, "ready")
}

// OpenLog is the log of a hermes up that has a terminal, for what is too much to show there.
func OpenLog(path string) (*os.File, error) {
	log, _, err := openLog(path)
	return log, err
}

// openLog appends to a log and puts a large one aside first. start is where this run's lines begin.
func openLog(path string) (log *os.File, start int64, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("log: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, info.Size(), nil
}

// died explains the end of a background process by what it wrote last.
func died(err error, logPath string, start int64) error {
	code := exit.Failed
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		code = ended.ExitCode()
	}
	lines := lastLines(logPath, start)
	if len(lines) == 0 {
		return &exit.Error{Code: code, Err: fmt.Errorf("hermes up ended at once (%v) and wrote nothing to %s", err, logPath)}
	}
	// The last line of a failed command is its one clear line.
	reason := strings.TrimPrefix(lines[len(lines)-1], "hermes: ")
	return &DiedError{Code: code, Reason: reason, Lines: lines, Log: logPath}
}

// DiedError says that a background process ended before it was healthy.
type DiedError struct {
	Code   int
	Reason string
	// Lines are the last ones of its log.
	Lines []string
	Log   string
}

func (e *DiedError) Error() string { return e.Reason }

// Unwrap gives the error the exit code of the process.
func (e *DiedError) Unwrap() error { return &exit.Error{Code: e.Code, Err: errors.New(e.Reason)} }

func lastLines(path string, start int64) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.NewSectionReader(file, start, maxLog))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range bytes.Lines(raw) {
		if text := strings.TrimSpace(string(line)); text != "" {
			lines = append(lines, text)
		}
	}
	return lines[max(len(lines)-lastLogLines, 0):]
}
