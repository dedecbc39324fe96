// Package datadir owns the directory in which hermes-apiserver keeps everything: who may use it (one
// process, by an flock held for life), which format it has, and where each file lives. It must never open
// the database and never delete anything.
//
// The lock file is apiserver.lock: the kernel lock is what counts, the content only names the owner.
package datadir
