// Package controlplane is the embedded control plane as seen by who runs it: it finds hermes-apiserver,
// chooses its address, starts it as a child process, waits until it is ready, explains why it is not, and
// stops it. It also installs CRDs into any control plane.
//
// It must never open the database, never read the tokens except through a kubeconfig, and never leave a
// child behind: the child holds a pipe to this process and ends with it. Implements the embedded control
// plane of design §5 and the exit codes of §9.
package controlplane
