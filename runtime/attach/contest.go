package attach

import "hermes.dev/hermes/runtime/host"

// Contest is what a gateway does that lost the host lock to another process.
type Contest string

// The ways out of a lost host lock.
const (
	// Yield: end with code 75.
	Yield Contest = "Yield"
	// Beside: serve beside a gateway that serves only its own profile, with a warning.
	Beside Contest = "Beside"
	// Forced: serve because --force says so.
	Forced Contest = "Forced"
)

// LostLock decides for the loser of the host lock. rescan is the holder's answer to rescan-profiles, nil when it could
// not be interrogated: it is then treated as a multiplexer. --replace does not waive this.
// Implements G-227.
func LostLock(force bool, rescan *host.Rescan) Contest {
	switch {
	case force:
		return Forced
	case rescan != nil && rescan.Multiplex != nil && !*rescan.Multiplex:
		return Beside
	default:
		return Yield
	}
}
