// Package controlplane is how every suite that needs an API server gets one: the real hermes-apiserver, in
// a temporary directory, with the CRDs of this repository, stopped at the end. It must never fall back to
// a fake, and never skip a test because the binary is missing.
package controlplane
