// Package local owns the life of hermes up on this machine: one process a data directory, the control plane
// it keeps running, the engine and the operator beside it, its way into the background and its end. It must
// never signal a process whose identity (pid and kernel start time) is not proven, and never stop a gateway
// unless hermes down asked for it. Implements hermes up and hermes down of design §9.
package local
