// Package profile is the runtime of one profile: the one value that owns its
// home, configuration view, secrets, session store, tools and agent. A gateway
// holds one Runtime per served profile and nothing else of it.
//
// Everything a profile does hangs off its Runtime, so work of one profile cannot
// run under another's home or credentials: there is no current profile and no
// package-level state. The store opens on first use and closes when idle. A panic
// stops here: it is counted, the runtime is rebuilt with back-off, and the other
// profiles never notice.
package profile
