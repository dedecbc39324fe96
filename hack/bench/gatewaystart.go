package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hermes.dev/hermes/runtime/host"
)

// gatewayStart stops everything and starts the gateway alone, from what is on disk: the API server is not
// there, so it is the gateway's own time that is measured.
func gatewayStart(ctx context.Context, s *stack) ([]figure, error) {
	if err := s.down(); err != nil {
		return nil, err
	}
	many, err := s.startGateway(ctx, s.home(), s.e.profiles)
	if err != nil {
		return nil, err
	}
	figures := []figure{
		{name: fmt.Sprintf("gateway process start to serving %d profiles", s.e.profiles), unit: "ms", value: millis(many), target: 2 * float64(s.e.profiles)},
	}
	one, err := s.startGateway(ctx, s.home(), 1)
	if err != nil {
		return figures, err
	}
	return append(figures, figure{name: "gateway process start to serving its first profile", unit: "ms", value: millis(one), target: 150}),
		errors.Join(s.start(ctx), s.connect()) // the scenario ends with everything running, as it began
}

// startGateway measures from the start of a gateway process until its control socket says that it serves n profiles.
func (s *stack) startGateway(ctx context.Context, home string, n int) (time.Duration, error) {
	log, err := os.CreateTemp(s.data, "gateway-*.log")
	if err != nil {
		return 0, err
	}
	defer log.Close() //nolint:errcheck // only read by people
	c := exec.CommandContext(ctx, filepath.Join(s.e.bin, "hermes"), "gateway", "run", "--home", home, "--namespace", "default",
		"--kubeconfig", filepath.Join(s.data, "controlplane", "gateway.kubeconfig"), "--drain-timeout", "5s")
	c.Stdout, c.Stderr = log, log
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	start := time.Now()
	if err := c.Start(); err != nil {
		return 0, err
	}
	client := host.NewClient(home)
	var took time.Duration
	for {
		id, err := client.Identify(ctx)
		if err == nil && id.PID == c.Process.Pid && len(id.ServedProfiles) >= n {
			took = time.Since(start)
			break
		}
		if time.Since(start) > patience || ctx.Err() != nil {
			return 0, errors.Join(fmt.Errorf("the gateway does not serve %d profiles, see %s: %w", n, log.Name(), err), c.Process.Kill(), c.Wait())
		}
		if err := letPass(ctx, time.Millisecond); err != nil {
			return 0, errors.Join(err, c.Process.Kill())
		}
	}
	return took, errors.Join(c.Process.Signal(os.Interrupt), c.Wait())
}
