// Package signals owns what SIGINT and SIGTERM do to the command line: the first one asks the verb to end, a second one
// ends the process, whatever the verb waits for. It must never decide what a verb does when it is asked.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Once gives a context that the first of the signals ends. From then on they do what they do by default, so the second one
// ends a process that does not heed its context. Call stop when the context is needed no more.
func Once(parent context.Context, signals ...os.Signal) (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// KeepTermination makes every further SIGTERM do nothing until stop is called. It is for verbs that drain when they are
// asked to end: a service manager sends it to each process of a unit, and so does the one of them that started the others.
// A second SIGINT is a person's and ends the process all the same.
func KeepTermination() (stop func()) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM)
	return func() { signal.Stop(heard) }
}
