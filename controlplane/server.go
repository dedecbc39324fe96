package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// ReadyTimeout is how long Start waits at most. A first start takes about two seconds; a slow disk
	// with a large database may take far longer.
	ReadyTimeout = 60 * time.Second
	// stopGrace is what the child gets between SIGTERM and SIGKILL when Stop's context has no earlier end.
	stopGrace = 10 * time.Second

	logMegabytes = 10
	logBackups   = 3
)

// Options says how to run a control plane.
type Options struct {
	// Binary is the path of hermes-apiserver, see FindBinary.
	Binary string
	// DataDir holds everything the control plane keeps. It is created with mode 0700.
	DataDir string
	// Address is the loopback HOST:PORT to serve on, see ChooseAddress. Empty picks any free port.
	Address string
	// MemoryLimit is a quantity such as "220Mi"; empty leaves the default of the binary.
	MemoryLimit string
	// Log gets what happens to the process, not its output, which goes to Layout.Log.
	Log logr.Logger
}

// Server is a running control plane: a child process in its own process group that ends with us.
type Server struct {
	layout Layout
	url    string
	cmd    *exec.Cmd
	stdin  io.Closer
	output *tail
	log    logr.Logger

	done chan struct{}
	err  error // why it ended; set before done is closed
	stop sync.Once
	// asked is closed when Stop was called, so that the exit it causes is no error.
	asked chan struct{}
}

// Start runs the control plane and returns once it is ready. When the child ends first the error is an
// *ExitError with the reason it printed. ctx bounds the start only: the server runs until Stop, or until
// this process ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := usable(o.Binary); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	s := &Server{
		layout: Layout{Dir: o.DataDir},
		log:    o.Log,
		done:   make(chan struct{}),
		asked:  make(chan struct{}),
	}
	ready, err := s.spawn(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	select {
	case s.url = <-ready:
		s.log.Info("Control plane is ready", "url", s.url, "pid", s.cmd.Process.Pid)
		return s, nil
	case <-s.done:
		return nil, s.err
	case <-ctx.Done():
		// Not ctx: it has ended, and the child must not stay.
		stopErr := s.Stop(context.WithoutCancel(ctx))
		return nil, errors.Join(fmt.Errorf("control plane was not ready in time: %w: %s (see %s)",
			ctx.Err(), reason(s.output.last()), s.layout.Log()), stopErr)
	}
}

func (s *Server) spawn(o Options) (<-chan string, error) {
	logFile := &lumberjack.Logger{Filename: s.layout.Log(), MaxSize: logMegabytes, MaxBackups: logBackups}
	s.output = &tail{out: logFile}
	args := []string{"--data-dir", o.DataDir, "--exit-with-parent"}
	if o.Address != "" {
		args = append(args, "--address", o.Address)
	}
	if o.MemoryLimit != "" {
		args = append(args, "--memory-limit", o.MemoryLimit)
	}
	s.cmd = exec.Command(o.Binary, args...)
	s.cmd.Stderr = s.output
	// Its own group: a Ctrl-C in the terminal reaches us alone, and we stop it in order.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, stdin, err := pipes(s.cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	s.stdin = stdin
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.done)
		scan(stdout, ready)
		s.err = s.exitError(s.cmd.Wait())
		if err := logFile.Close(); err != nil {
			s.log.Error(err, "Could not close the control plane's log", "file", s.layout.Log())
		}
	}()
	return ready, nil
}

func pipes(cmd *exec.Cmd) (io.Reader, io.Closer, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	stdin, err := cmd.StdinPipe()
	return stdout, stdin, err
}

// scan reads standard output to its end and sends the URL of the ready line.
func scan(stdout io.Reader, ready chan<- string) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			ready <- url
		}
	}
}

func (s *Server) exitError(err error) error {
	select {
	case <-s.asked:
		if err == nil {
			return nil
		}
	default:
	}
	return &ExitError{Code: s.cmd.ProcessState.ExitCode(), Reason: reason(s.output.last()), Log: s.layout.Log()}
}

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the process ended, nil while it runs and after an orderly Stop.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// URL is where the API server answers.
func (s *Server) URL() string { return s.url }

// PID is the process id of the child.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Layout names the files of the control plane.
func (s *Server) Layout() Layout { return s.layout }

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Server) Kubeconfig() string { return s.layout.Kubeconfig() }

// RESTConfig reads the administrator's kubeconfig. Client-side rate limiting is off: the server is ours
// and on this machine.
func (s *Server) RESTConfig() (*rest.Config, error) { return loadConfig(s.layout.Kubeconfig()) }

func loadConfig(path string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// Stop asks the process to end (its standard input closes, then SIGTERM), kills its process group when
// ctx or 10 s have run out, and returns once it is gone. Calling it again waits as well. The error is nil
// when the process ended in order.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		close(s.asked)
		_ = s.stdin.Close()                       // the child treats both the same;
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	})
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	s.log.Info("Control plane did not stop in time, killing it", "pid", s.cmd.Process.Pid)
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: it ended meanwhile
	<-s.done
	return s.err
}
