// Package hostctl is what the lifecycle verbs of a gateway that nobody declared do: start, stop, restart, status, install
// and the fold of several gateways into one. It looks at the host through runtime/attach and runtime/host, and acts through
// signals, the control socket and a service manager.
//
// It must never signal a process that the kill guard does not permit, never sweep processes it merely found, and never
// touch a declared gateway. Implements section 3.7 of spec/gateway-cron-sessions.md: G-273, G-280 to G-289, and G-403.
package hostctl
