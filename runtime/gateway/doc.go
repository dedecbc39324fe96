// Package gateway is the composition root of a gateway process: it claims the
// home root, publishes who serves it, opens the control socket and the local API,
// runs the node agent and holds the open profiles.
//
// It owns wiring and the order of starting and stopping, and no behaviour of a
// profile. A gateway that cannot run as configured ends with a Refusal that names
// a condition reason, so that whoever supervises it can tell a person what to
// change instead of starting it again and again.
package gateway
