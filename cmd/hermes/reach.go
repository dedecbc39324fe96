package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/reach"
)

// finder finds profiles for this command line.
func (c *cli) finder() reach.Finder {
	return reach.Finder{
		API: c.api, Namespace: c.namespace, TempDir: os.TempDir(), Clock: clock.RealClock{}, Log: logr.Discard(),
		Note: func(format string, args ...any) { fmt.Fprintf(c.err, "note: "+format+"\n", args...) },
	}
}

// withProfile runs fn with the profile that is meant, and gives what goes wrong its exit code.
func (c *cli) withProfile(ctx context.Context, flags reach.Flags, need reach.Need, fn func(*reach.Access) error) error {
	access, err := c.finder().Open(ctx, flags, need)
	if err != nil {
		return err
	}
	return reach.Coded(errors.Join(fn(access), access.Close()))
}
