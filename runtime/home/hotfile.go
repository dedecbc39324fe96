package home

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// recheckAfter is how long a reading is used without looking at the file again. An edit by another process is
	// visible on the first read after this; one announced with Invalidate on the very next read.
	recheckAfter = 5 * time.Microsecond
	// racyFor is how old a file's mtime must be before an unchanged stamp proves unchanged content: file systems
	// stamp with the kernel tick, so two writes within one tick look alike.
	racyFor = 10 * time.Millisecond
)

// stamp identifies a file's content without reading it. Implements the key of M-7, with the inode and, where the
// system has it, the change time, because an atomic replacement can keep mtime and size.
type stamp struct {
	exists             bool
	mtime, ctime, size int64
	inode              uint64
}

// reading is one immutable look at the file.
type reading[T any] struct {
	value *T     // never nil; the last good one when err is set
	raw   []byte // what value was parsed from
	err   error
	stamp stamp
	racy  bool
}

// hotFile reads one file through a cache that costs a pointer load while nothing changes.
type hotFile[T any] struct {
	path  string
	clock clock.PassiveClock
	start time.Time
	parse func([]byte) (*T, error)
	empty func() *T

	current atomic.Pointer[reading[T]]
	checked atomic.Int64 // nanoseconds after start; negative asks for a check
	asked   atomic.Int64 // number of invalidations, so that each leaves another negative number
	mu      sync.Mutex   // one loader at a time
}

func newHotFile[T any](path string, c clock.PassiveClock, parse func([]byte) (*T, error), empty func() *T) *hotFile[T] {
	f := &hotFile[T]{path: path, clock: c, start: c.Now(), parse: parse, empty: empty}
	f.invalidate()
	return f
}

// get returns the current reading: the same pointer until the file changes.
func (f *hotFile[T]) get() *reading[T] {
	now := int64(f.clock.Since(f.start))
	checked := f.checked.Load()
	r := f.current.Load()
	if r != nil && checked >= 0 && now-checked < int64(recheckAfter) {
		return r
	}
	st, err := statStamp(f.path)
	if r != nil && err == nil && !r.racy && st == r.stamp {
		// An Invalidate since the load above wins: it left another number there.
		f.checked.CompareAndSwap(checked, now)
		return r
	}
	return f.load(now, checked)
}

func (f *hotFile[T]) load(now, checked int64) *reading[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.read(f.current.Load())
	f.current.Store(r)
	f.checked.CompareAndSwap(checked, now)
	return r
}

// read looks at the file once. The same bytes give the object that earlier reads gave.
func (f *hotFile[T]) read(last *reading[T]) *reading[T] {
	next := &reading[T]{value: f.empty()}
	if last != nil {
		next.value, next.raw = last.value, last.raw
	}
	data, st, err := readStamped(f.path)
	next.stamp = st
	if errors.Is(err, fs.ErrNotExist) {
		if next.raw != nil { // no file is an empty one, not an old one: what it granted is withdrawn
			next.value, next.raw = f.empty(), nil
		}
		return f.settle(last, next)
	}
	if err != nil {
		next.err, next.racy = err, true // the stamp says nothing about when it can be read again
		return f.settle(last, next)
	}
	next.racy = time.Duration(f.clock.Now().UnixNano()-st.mtime).Abs() < racyFor
	if next.raw != nil && bytes.Equal(next.raw, data) {
		return f.settle(last, next)
	}
	value, err := f.parse(data)
	if err != nil {
		next.err = err
		return f.settle(last, next)
	}
	next.value, next.raw = value, data
	return f.settle(last, next)
}

// settle keeps the earlier reading itself when nothing about it changed.
func (f *hotFile[T]) settle(last, next *reading[T]) *reading[T] {
	if last != nil && last.value == next.value && last.err == nil && next.err == nil && last.stamp == next.stamp && last.racy == next.racy {
		return last
	}
	return next
}

// invalidate makes the next get look at the file.
func (f *hotFile[T]) invalidate() { f.checked.Store(-f.asked.Add(1)) }

// readStamped reads a file and the stamp of what was read.
func readStamped(path string) ([]byte, stamp, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, err
	}
	defer func() { _ = file.Close() }()
	fi, err := file.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	data, err := io.ReadAll(file)
	if data == nil {
		data = []byte{}
	}
	return data, stampOf(fi), err
}

func statStamp(path string) (stamp, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stampOf(fi), nil
}
