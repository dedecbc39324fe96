package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// hundredProfiles measures what a person feels with a hundred profiles.
func hundredProfiles(ctx context.Context, e *env) (figures []figure, err error) {
	s, err := e.up(ctx)
	defer func() { err = errors.Join(err, s.down()) }()
	if err != nil {
		return nil, err
	}
	p, err := s.pids()
	if err != nil {
		return nil, err
	}
	m, err := memoryOf(p.gateway)
	if err != nil {
		return nil, err
	}
	figures = append(figures,
		figure{name: "gateway: memory without profiles", unit: "MB", value: megabytes(m.total), target: 60},
		shown("  of which its own", "MB", megabytes(m.anonymous)))
	path, err := s.writeProfiles(1, 100)
	if err != nil {
		return figures, err
	}
	if _, err := s.hermes(ctx, "apply", "-f", path); err != nil {
		return figures, err
	}
	if err := s.awaitReady(ctx, 100, isReady); err != nil {
		return figures, err
	}
	for range 10 {
		start := time.Now()
		if _, err := s.hermes(ctx, "status"); err != nil {
			return figures, err
		}
		figures = append(figures, figure{name: "hermes status over 100 profiles", unit: "ms", value: millis(time.Since(start)), target: 100})
	}
	for i := range 5 {
		took, err := s.changeConfig(ctx, i)
		if err != nil {
			return figures, err
		}
		figures = append(figures, figure{name: "config change to effective", unit: "ms", value: millis(took), target: 1000})
	}
	return figures, nil
}

// changeConfig declares another soul for a profile and measures until its next prompt would have it.
func (s *stack) changeConfig(ctx context.Context, i int) (time.Duration, error) {
	p := &v1alpha1.Profile{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: profileName(1)}, p); err != nil {
		return 0, err
	}
	before := p.DeepCopy()
	soul := fmt.Sprintf("You are of another mind: %d.", i)
	p.Spec.Identity.Soul = &soul
	start := time.Now()
	if err := s.client.Patch(ctx, p, client.MergeFrom(before)); err != nil {
		return 0, err
	}
	file := filepath.Join(s.home(), "profiles", p.Name, "SOUL.md")
	for {
		raw, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(raw), soul) {
			return time.Since(start), nil
		}
		if time.Since(start) > patience {
			return 0, fmt.Errorf("%s did not change", file)
		}
		if err := letPass(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
}
