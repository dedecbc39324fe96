package store

import (
	"errors"
	"strings"
	"syscall"
)

// Bucket is the cause of a failed store operation as callers report it, for example in
// "session_persistence_failed:locked" (rule S-114).
type Bucket string

// The buckets of rule S-120.
const (
	BucketNone              Bucket = ""
	BucketTurnLease         Bucket = "turn_lease"
	BucketCompressionClosed Bucket = "compression_closed"
	BucketCompression       Bucket = "compression"
	BucketDeletedWAL        Bucket = "deleted_wal"
	BucketReplaced          Bucket = "replaced"
	BucketCorrupt           Bucket = "corrupt"
	BucketFTSIndex          Bucket = "fts_index"
	BucketLocked            Bucket = "locked"
	BucketDisk              Bucket = "disk"
	BucketUnknown           Bucket = "unknown"
)

// SQLite's primary result codes that decide a bucket; the low byte of an extended code.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26

	// codeCorruptVTab is extended: a virtual table (full-text index) found its own content damaged.
	codeCorruptVTab = 267
)

// typed lists the causes that are decided by type, in match order: an ErrDeletedWAL is also an ErrReplaced. The last
// ones are here because their text carries the caller's words, which must not reach the phrases.
var typed = []struct {
	err    error
	bucket Bucket
}{
	{ErrTurnLease, BucketTurnLease},
	{ErrCompressionClosed, BucketCompressionClosed},
	{ErrCompression, BucketCompression},
	{ErrDeletedWAL, BucketDeletedWAL},
	{ErrReplaced, BucketReplaced},
	{ErrCorrupt, BucketCorrupt},
	{ErrLocksLost, BucketReplaced}, // same remedy: write elsewhere, restart
	{ErrContended, BucketLocked},
	{ErrStoreBusy, BucketLocked},
	{ErrReadOnly, BucketDisk},
	{ErrNoSession, BucketUnknown},
	{ErrTitleTaken, BucketUnknown},
	{ErrBadTitle, BucketUnknown},
	{ErrAmbiguousSession, BucketUnknown},
	{ErrSchema, BucketUnknown},
	{ErrClosed, BucketUnknown},
}

// phrases decide by text when neither type nor lock code did, in match order.
var phrases = []struct {
	text   string
	bucket Bucket
}{
	{"turn lease", BucketTurnLease},
	{"closed by compression", BucketCompressionClosed},
	{"being compressed", BucketCompression},
	{"compression lease", BucketCompression},
	{"deleted state.db-wal", BucketDeletedWAL},
	{"deleted state.db-shm", BucketDeletedWAL},
	{"was replaced underneath", BucketReplaced},
	{"disk image is malformed", BucketCorrupt},
	{"malformed database schema", BucketCorrupt},
	{"file is not a database", BucketCorrupt},
	{"database corruption", BucketCorrupt},
}

// diskPhrases are tried last: "disk image is malformed" is damage, not a full disk.
var diskPhrases = []string{
	"database or disk is full", "no space left", "disk quota exceeded", "readonly database", "read-only file system",
}

// Classify names the cause of err. It is pure; nil gives BucketNone.
//
// Implements S-112 and S-120.
func Classify(err error) Bucket {
	if err == nil {
		return BucketNone
	}
	for _, t := range typed {
		if errors.Is(err, t.err) {
			return t.bucket
		}
	}
	text := strings.ToLower(err.Error())
	code, coded := resultCode(err)
	primary := code & 0xff
	lock := primary == codeBusy || primary == codeLocked
	if !lock && ftsDamage(code, text) {
		return BucketFTSIndex
	}
	if lock {
		return BucketLocked
	}
	if primary == codeCorrupt || primary == codeNotADB {
		return BucketCorrupt
	}
	for _, p := range phrases {
		if strings.Contains(text, p.text) {
			return p.bucket
		}
	}
	if !coded && (strings.Contains(text, "locked") || strings.Contains(text, "busy")) {
		return BucketLocked
	}
	if primary == codeFull || primary == codeReadOnly || diskErrno(err) {
		return BucketDisk
	}
	for _, p := range diskPhrases {
		if strings.Contains(text, p) {
			return BucketDisk
		}
	}
	return BucketUnknown
}

// ftsDamage is true for damage that is confined to a full-text index, which can be rebuilt from messages.
func ftsDamage(code int, text string) bool {
	if code == codeCorruptVTab {
		return true
	}
	damaged := code&0xff == codeCorrupt || strings.Contains(text, "malformed") || strings.Contains(text, "corrupt")
	return damaged && (strings.Contains(text, "messages_fts") || strings.Contains(text, "fts5:"))
}

// resultCode returns SQLite's extended result code, when err carries one.
func resultCode(err error) (code int, ok bool) {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code(), true
	}
	return 0, false
}

func diskErrno(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
