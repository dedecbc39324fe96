// Package schedule reconciles Schedules at the level of the control plane: it
// resolves the Profile, sums up what the gateway reports, and tells changes.
//
// The job itself is the gateway's: runtime/node puts it into the profile's job
// store and owns condition Scheduled, nextRun, lastRun and active. This package
// never writes those. Behaviour: design.md sections 3 and 4.
package schedule
