// Command hermes runs personal AI agents that are declared as objects: it starts a control plane on this
// machine, applies declarations, shows how they do, and talks to them. One file a verb; what verbs share is
// under internal. Implements the command line contract of design §9.
package main

import (
	"context"
	"os"
	"syscall"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/signals"
)

func main() {
	ctx, stop := signals.Once(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, &cli{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv,
		clock:  clock.RealClock{},
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
