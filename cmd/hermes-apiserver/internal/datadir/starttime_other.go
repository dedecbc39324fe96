//go:build !linux

package datadir

// startTime is not known without cgo on this system; the pid alone names the owner.
func startTime() uint64 { return 0 }
