package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/config/crd"
	"hermes.dev/hermes/controllers/operator"
	"hermes.dev/hermes/controlplane"
)

// controlPlane measures the embedded control plane alone, with our CRDs and no client.
func controlPlane(ctx context.Context, e *env) (figures []figure, err error) {
	e.stacks++
	start := time.Now()
	s, err := controlplane.Start(ctx, controlplane.Options{
		Binary: filepath.Join(e.bin, "hermes-apiserver"), DataDir: filepath.Join(e.dir, fmt.Sprintf("controlplane-%d", e.stacks)), Log: logr.Discard(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	figures = append(figures, figure{name: "control plane: first start to ready", unit: "s", value: time.Since(start).Seconds(), target: 3})
	cfg, err := s.RESTConfig()
	if err != nil {
		return figures, err
	}
	bases, err := fs.Sub(crd.Bases, "bases")
	if err != nil {
		return figures, err
	}
	if err := controlplane.InstallCRDs(ctx, cfg, bases); err != nil {
		return figures, err
	}
	idle, err := idleFigures(ctx, e, s.PID())
	figures = append(figures, idle...)
	if err != nil {
		return figures, err
	}
	c, err := client.New(cfg, client.Options{Scheme: operator.Scheme()})
	if err != nil {
		return figures, err
	}
	burst, err := writeBurst(ctx, c, s, e)
	return append(figures, burst...), err
}

func idleFigures(ctx context.Context, e *env, pid int) ([]figure, error) {
	if err := letPass(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	before, err := cpuOf(pid)
	if err != nil {
		return nil, err
	}
	window := e.pause(60 * time.Second)
	if err := letPass(ctx, window); err != nil {
		return nil, err
	}
	after, err1 := cpuOf(pid)
	m, err2 := memoryOf(pid)
	return []figure{
		{name: "control plane: idle memory with our CRDs", unit: "MB", value: megabytes(m.total), target: 200},
		shown("  of which its own (not pages of the program file)", "MB", megabytes(m.anonymous)),
		{name: "control plane: idle processor use", unit: "%", value: 100 * (after - before).Seconds() / window.Seconds(), target: 1},
	}, errors.Join(err1, err2)
}

// writeBurst writes many objects and looks at the write-ahead log and the memory some time later.
func writeBurst(ctx context.Context, c client.Client, s *controlplane.Server, e *env) ([]figure, error) {
	n := 5000
	if e.quick {
		n = 1000
	}
	before, err := cpuOf(s.PID())
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = inParallel(n, func(i int) error {
		return c.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("burst-%d", i)},
			Data:       map[string]string{"text": strings.Repeat("x", 1024)},
		})
	})
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(s.PID())
	if err != nil {
		return nil, err
	}
	if err := letPass(ctx, 2*time.Second); err != nil { // the log is folded back twice a second
		return nil, err
	}
	wal, err1 := os.Stat(filepath.Join(s.Layout().Dir, "db", "state.db-wal"))
	err2 := letPass(ctx, e.pause(30*time.Second))
	m, err3 := memoryOf(s.PID())
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return []figure{
		shown("control plane: writes of small objects", "/s", float64(n)/took.Seconds()),
		shown("  processor time per write", "ms", millis(after-before)/float64(n)),
		{name: "control plane: write-ahead log after a burst", unit: "MB", value: megabytes(wal.Size()), target: 16},
		shown("control plane: memory after a burst", "MB", megabytes(m.total)),
	}, nil
}
