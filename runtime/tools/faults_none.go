//go:build !faults

package tools

// faultTools is empty in every binary that is not built to be broken.
func faultTools() []Tool { return nil }
