package home

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"
)

// View is a hot read-only view of the config of one home: its config.yaml, with what is declared laid over it. Reading
// costs a clock reading and pointer loads; the file is stated at most once in 5 microseconds and read only when its
// stamp changed. An edit is visible on the next read after that; one announced with Invalidate on the very next. Safe
// for use by many goroutines. Implements M-7.
type View struct {
	file *hotFile[Config]
	home string

	declared atomic.Pointer[declaredState]
	laid     atomic.Pointer[laidOver]
	mu       sync.Mutex // one writer of the two above
}

// declaredState is what a view knows of the declaration.
type declaredState struct {
	d   *Declaration
	err error
	// given says that it was told rather than recalled from the home.
	given bool
	// judged is the file that did not agree with the record.
	judged *Config
}

// laidOver is the config that a file and a declaration give together.
type laidOver struct {
	file   *Config
	state  *declaredState
	config *Config
}

// NewView makes a view of the config.yaml at path. Nothing is read yet; the file need not exist. What the home's record
// says was declared is recalled at the first read and holds until Declare or Invalidate, whatever the file says then.
func NewView(path string, c clock.PassiveClock) *View {
	return &View{home: filepath.Dir(path), file: newHotFile(path, c, ParseConfig, emptyConfig)}
}

// Declare makes d the declaration from the next read on. Nothing that is written to the home changes it any more.
func (v *View) Declare(d *Declaration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.declared.Store(&declaredState{d: d, given: true})
	v.file.invalidate()
}

// Config is the current config, never nil: the same object until the file changes. When the file cannot be read or
// parsed it is the last good one (an empty one when there was none) and Err says why.
func (v *View) Config() *Config {
	c, _ := v.Read()
	return c
}

// Err is why Config is not what the file says now, nil when it is. Implements M-8.
func (v *View) Err() error {
	_, err := v.Read()
	return err
}

// Read is Config and Err of one moment. A gate that must fail closed uses this and ignores the config on error.
func (v *View) Read() (*Config, error) {
	r := v.file.get()
	state := v.declared.Load()
	if laid := v.laid.Load(); laid != nil && r.err == nil && laid.file == r.value && laid.state == state {
		return laid.config, state.err
	}
	return v.lay(r)
}

// lay lays the declaration over a reading of the file.
func (v *View) lay(r *reading[Config]) (*Config, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	state := v.declared.Load()
	if state == nil || state.err != nil && state.judged != r.value {
		if r.err != nil { // nothing to judge by yet
			return r.read()
		}
		state = &declaredState{judged: r.value}
		state.d, state.err = recalled(v.home, r.value.keys)
		v.declared.Store(state)
	}
	laid := v.laid.Load()
	if laid == nil || laid.file != r.value || laid.state != state {
		laid = &laidOver{file: r.value, state: state, config: r.value}
		if state.d != nil {
			laid.config = &Config{keys: effective(r.value.keys, state.d)}
		}
		v.laid.Store(laid)
	}
	if r.err != nil {
		_, err := r.read()
		return laid.config, err
	}
	return laid.config, state.err
}

func (r *reading[T]) read() (*T, error) {
	if r.err != nil {
		return r.value, fmt.Errorf("config.yaml of this home cannot be used, the last good one is: %w", r.err)
	}
	return r.value, nil
}

// Invalidate makes the next read look at the file. Writers inside the process call it after writing. A declaration that
// was recalled from the home is recalled again, one that was given stays.
func (v *View) Invalidate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.declared.Load(); s != nil && !s.given {
		v.declared.Store(nil)
	}
	v.file.invalidate()
}
