package home

import "sync/atomic"

// Derived is a value computed from a View once per edit of the file, for gates that run on a hot path: while nothing
// changes a read costs what View.Config costs, however much the computation does.
type Derived[T any] struct {
	view *View
	from func(*Config, error) T
	last atomic.Pointer[derivedReading[T]]
}

type derivedReading[T any] struct {
	of    *reading[Config]
	under *declaredState
	value T
}

// Derive makes a Derived of a view. from gets what View.Read returns, so a gate that must fail closed can; it is pure
// and may run more than once for one edit.
func Derive[T any](v *View, from func(*Config, error) T) *Derived[T] {
	return &Derived[T]{view: v, from: from}
}

// Get is the current value. It is shared: callers do not change what it points to.
func (d *Derived[T]) Get() T {
	r, under := d.view.file.get(), d.view.declared.Load()
	if under == nil { // nothing was recalled yet
		_ = d.view.Err()
		r, under = d.view.file.get(), d.view.declared.Load()
	}
	if last := d.last.Load(); last != nil && last.of == r && last.under == under {
		return last.value
	}
	next := &derivedReading[T]{of: r, under: under, value: d.from(d.view.Read())}
	d.last.Store(next)
	return next.value
}
