//go:build !linux

package orphan

import "errors"

// ErrBlind means that this operating system leaves orphans to its first process.
var ErrBlind = errors.New("orphaned processes can be collected on Linux only: a daemon that hides is not found")

// Adopt refuses.
func Adopt() error { return ErrBlind }

// Probe refuses.
func Probe() error { return ErrBlind }

// Held sees nothing.
func Held() map[int]bool { return nil }

// Children sees nothing.
func Children() []int { return nil }

// Collect has nothing to take.
func Collect(int) {}
