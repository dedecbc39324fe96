// Package orphan tells the orphans of this process from its children.
//
// A process that calls Adopt becomes the parent of every descendant whose own
// parent ends: a daemon that forks twice, starts a session of its own, clears
// its environment and closes its output cannot leave. Such an orphan looks like
// a child that was started on purpose, except for one thing: package os holds a
// process descriptor (pidfd) of each child until it was waited for, and nobody
// holds one of an orphan.
//
// The package owns that distinction and nothing else. It never signals a
// process, and it collects only the process it is told to, so that the exit
// status of a child goes to whoever waits for it. It implements guarantee G9.
package orphan
