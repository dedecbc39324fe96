package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/controllers/operator"
)

// env is what all scenarios share.
type env struct {
	bin      string
	dir      string
	profiles int
	quick    bool

	stacks int
}

func (e *env) prepare() error {
	bin, err := filepath.Abs(e.bin)
	if err != nil {
		return err
	}
	e.bin = bin
	for _, name := range []string{"hermes", "hermes-apiserver"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("%w: run make build first", err)
		}
	}
	e.dir, err = os.MkdirTemp("", "hermes-bench-")
	return err
}

// pause is how long a settled system is watched.
func (e *env) pause(d time.Duration) time.Duration {
	if e.quick {
		return d / 6
	}
	return d
}

// stack is a running hermes up.
type stack struct {
	e      *env
	data   string
	cfg    *rest.Config
	client client.WithWatch
	scheme *runtime.Scheme
}

// up starts hermes in a new directory and returns once its default Gateway is Ready.
func (e *env) up(ctx context.Context) (*stack, error) {
	e.stacks++
	s := &stack{e: e, data: filepath.Join(e.dir, fmt.Sprintf("stack-%d", e.stacks)), scheme: operator.Scheme()}
	return s, errors.Join(s.start(ctx), s.connect())
}

func (s *stack) start(ctx context.Context) error {
	_, err := s.hermes(ctx, "up", "--detach", "--wait")
	return err
}

func (s *stack) connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.data, "controlplane", "kubeconfig"))
	if err != nil {
		return err
	}
	cfg.QPS = -1
	s.cfg = cfg
	s.client, err = client.NewWithWatch(cfg, client.Options{Scheme: s.scheme})
	return err
}

// hermes runs a verb against this stack and returns what it printed.
func (s *stack) hermes(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, filepath.Join(s.e.bin, "hermes"), append([]string{"--data", s.data}, args...)...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("hermes %s: %w: %s", args[0], err, bytes.TrimSpace(problems.Bytes()))
	}
	return out.Bytes(), nil
}

// down stops everything. It is given its own time: ctx may have ended.
func (s *stack) down(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := s.hermes(ctx, append([]string{"down"}, args...)...)
	return err
}

// home is the root of the default Gateway.
func (s *stack) home() string { return filepath.Join(s.data, "gateways", "default", "default") }

func (s *stack) pids() (pids, error) {
	p := pids{
		apiserver: find("hermes-apiserver", "--data-dir "+s.data+"/"),
		operator:  find("hermes up ", "--data "+s.data+" "),
		gateway:   find("hermes gateway run", "--home "+s.home()+" "),
	}
	if p.apiserver == 0 || p.operator == 0 || p.gateway == 0 {
		return p, fmt.Errorf("a process is missing: %+v", p)
	}
	return p, nil
}

// pids are the processes of a stack.
type pids struct{ apiserver, operator, gateway int }

// spent is the processor time of each process.
type spent struct{ apiserver, operator, gateway time.Duration }

func (p pids) cpu() (spent, error) {
	a, err1 := cpuOf(p.apiserver)
	o, err2 := cpuOf(p.operator)
	g, err3 := cpuOf(p.gateway)
	return spent{a, o, g}, errors.Join(err1, err2, err3)
}
