// Package fakeengine is a second, in-memory implementation of engine.Engine: it
// keeps the interface honest and lets suites see what a reconciler asks of an
// engine, and break it. A run is a goroutine instead of a process.
//
// It must never do what a real engine would not: it is idempotent, restarts a
// run only for the causes the interface names, announces every change, and says
// gone only once nothing of a workload runs.
package fakeengine
