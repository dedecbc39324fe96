package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"
)

// commandLine measures what every verb pays before it does anything.
func commandLine(ctx context.Context, e *env) ([]figure, error) {
	var figures []figure
	for range 10 {
		c := exec.CommandContext(ctx, filepath.Join(e.bin, "hermes"), "version")
		start := time.Now()
		if err := c.Run(); err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{name: "hermes version", unit: "ms", value: millis(time.Since(start)), target: 60},
			shown("  processor time", "ms", millis(c.ProcessState.UserTime()+c.ProcessState.SystemTime())))
	}
	return figures, nil
}
