//go:build !linux

package process

import (
	"context"
	"errors"

	"hermes.dev/hermes/controllers/engine"
)

// Engine exists on Linux only: its guarantees rest on pidfds, subreapers and /proc.
type Engine struct{}

var _ engine.Engine = (*Engine)(nil)

var errUnsupported = errors.New("engine Process needs Linux: run hermes on Linux, or set spec.engine to Kubernetes on a new Gateway")

// New refuses: this operating system has no such engine.
func New(Options) (*Engine, error) { return nil, errUnsupported }

// Run refuses.
func (*Engine) Run(context.Context) error { return errUnsupported }

// Close has nothing to let go.
func (*Engine) Close() error { return nil }

// Changes never announces anything.
func (*Engine) Changes() <-chan engine.Ref { return nil }

// Known refuses.
func (*Engine) Known() ([]engine.Ref, error) { return nil, errUnsupported }

// Ensure refuses.
func (*Engine) Ensure(context.Context, engine.Workload) (engine.Observation, error) {
	return engine.Observation{}, errUnsupported
}

// Stop refuses.
func (*Engine) Stop(context.Context, engine.Ref) (engine.Observation, bool, error) {
	return engine.Observation{}, false, errUnsupported
}

// DelegatedCgroup refuses.
func DelegatedCgroup() (string, error) { return "", errors.New("this machine has no cgroup v2") }
