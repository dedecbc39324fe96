package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes.dev/hermes/controllers/engine"
)

// Engine is a process engine as its owner sees it.
type Engine interface {
	engine.Engine
	// Known lists every gateway it remembers, running or not.
	Known() ([]engine.Ref, error)
	// Close lets go of all gateways without touching them.
	Close() error
}

// lookAgain bounds how long a missed announcement can hold a stop up.
const lookAgain = time.Second

// StopGateways stops every gateway the engine remembers, all at once, and returns when they are gone or ctx
// ends. The error names those that still run.
func StopGateways(ctx context.Context, e Engine) error {
	left, err := e.Known()
	if err != nil {
		return fmt.Errorf("list gateways: %w", err)
	}
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		var failed error
		left, failed = stopAll(ctx, e, left)
		if len(left) == 0 {
			return failed
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("still running: gateway %s", names(left)), failed)
		case <-e.Changes():
		case <-ticker.C:
		}
	}
}

// stopAll asks for every stop and returns the gateways that are not gone yet.
func stopAll(ctx context.Context, e Engine, refs []engine.Ref) ([]engine.Ref, error) {
	var left []engine.Ref
	var errs []error
	for _, ref := range refs {
		_, gone, err := e.Stop(ctx, ref)
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway %s: %w", ref, err))
		}
		if !gone {
			left = append(left, ref)
		}
	}
	return left, errors.Join(errs...)
}

func names(refs []engine.Ref) string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = ref.String()
	}
	return strings.Join(out, ", ")
}
