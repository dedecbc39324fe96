//go:build race

package profile

// loadSize is how much a load test does: under the race detector, less.
func loadSize(_, race int) int { return race }
