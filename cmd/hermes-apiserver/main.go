// Command hermes-apiserver is the embedded control plane of hermes: a Kubernetes API server without nodes
// over SQLite, on loopback, with its own authority and tokens, in one data directory. `hermes up` runs it.
//
// It must never listen beyond loopback and never run twice on one directory. Exit codes: 0 stopped when
// asked, 1 failed, 2 usage, 75 the directory is in use, 78 refused by configuration (design §5, §9).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

// version is set by the linker.
var version = "dev"

func main() {
	// SQLite creates its files with the default mode: everything this process makes is its owner's alone.
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "hermes-apiserver: %v\n", err)
	}
	os.Exit(refuse.Code(err))
}
