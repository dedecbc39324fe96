// Package node is the agent inside a gateway process that watches the Profiles
// bound to this gateway, writes their homes, has them opened, and reports what it
// sees. It is the kubelet of this system: it watches and it reports, and no
// controller ever polls a gateway.
//
// It writes only its own part of a status (condition Served and the fields
// gateway and store of a Profile, the served set of a Gateway), only when it
// differs. It reads only the home Secrets labelled for its gateway. It never
// decides what a profile is: that is rendered by the controller.
package node
