package fakeengine

import "hermes.dev/hermes/controllers/engine"

// Observe makes a workload look like o until Recover. Without an Instance the run
// ends, as a process does that crashed; with one (any) it is there still.
func (e *Engine) Observe(ref engine.Ref, o engine.Observation) { e.fault(ref, fault{observation: &o}) }

// Fail makes every call about a workload return err until Recover.
func (e *Engine) Fail(ref engine.Ref, err error) { e.fault(ref, fault{err: err}) }

// Recover takes a fault away.
func (e *Engine) Recover(ref engine.Ref) { e.fault(ref, fault{}) }

func (e *Engine) fault(ref engine.Ref, f fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults[ref] = f
	if w := e.workloads[ref]; w != nil && e.dead(ref) {
		w.cancel()
	}
	e.announce(ref)
}

// Hold keeps a workload where it is: one that starts stays starting, one that
// stops goes on draining, until Release.
func (e *Engine) Hold(ref engine.Ref) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[ref] = true
	e.announce(ref)
}

// Release ends Hold.
func (e *Engine) Release(ref engine.Ref) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, ref)
	if w := e.workloads[ref]; w != nil && w.stopping {
		w.cancel()
	}
	e.announce(ref)
}

// Workload returns what a workload's current run was started with; ok is false when nothing runs.
func (e *Engine) Workload(ref engine.Ref) (w engine.Workload, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	run, ok := e.workloads[ref]
	if !ok {
		return engine.Workload{}, false
	}
	return run.ran, true
}

// Ensured counts the calls of Ensure for a workload.
func (e *Engine) Ensured(ref engine.Ref) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ensured[ref]
}

// Starts counts the runs of a workload.
func (e *Engine) Starts(ref engine.Ref) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.starts[ref]
}
