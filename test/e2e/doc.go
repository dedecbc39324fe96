// Package e2e holds the whole system to its promises with the real binaries: hermes up, its control plane, its
// gateways, kubectl, and a model server that misbehaves on demand. Each test is named for what must hold, has its own
// data directory, home directory and control plane, injects a fault, and waits for conditions, never for time.
//
// It owns no product code and must never reach into a process: what it knows it learned from the API, the sockets,
// the files and /proc. A process that outlives its test fails the test.
package e2e
