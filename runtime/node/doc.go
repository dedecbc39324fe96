// Package node is the agent inside a gateway process that watches the Profiles
// bound to this gateway, writes their homes, has them opened, and reports what it
// sees. It is the kubelet of this system: it watches and it reports, and no
// controller ever polls a gateway.
//
// It also converges the Schedules of the profiles that are open here into their
// job stores, and touches no job that a Schedule does not declare.
//
// It writes only its own part of a status (condition Served and the fields
// gateway and store of a Profile, the served set of a Gateway, condition
// Scheduled and the runs of a Schedule), only when it differs. It reads only the home Secrets labelled for its gateway. It never
// decides what a profile is: that is rendered by the controller.
package node
