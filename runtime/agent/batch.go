package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
)

// outcome is what became of one call of a batch. It is readable once done is closed.
type outcome struct {
	done    chan struct{}
	content string
	effect  string
	event   ToolEvent
	panic   *carriedPanic
}

// carriedPanic is a panic of a tool that ran beside others, on its way to the goroutine of Run.
type carriedPanic struct {
	value any
	stack []byte
}

// Error makes the carried panic readable where it is finally recovered.
func (p *carriedPanic) Error() string {
	return fmt.Sprintf("%v\n\ntool goroutine:\n%s", p.value, p.stack)
}

// runTools runs the calls of one answer and stores a result for each. One call runs on this goroutine; several run
// concurrently unless one of them waits for a person. Results are stored in call order, each as soon as those before
// it are there: whatever a crash leaves unstored counts as unknown. Implements L7.
func (r *run) runTools(ctx context.Context, calls []llm.ToolCall) *Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]*outcome, len(calls))
	for i := range out {
		out[i] = &outcome{done: make(chan struct{})}
	}
	if len(calls) == 1 || r.anyInteractive(calls) {
		for i, c := range calls {
			r.callTool(ctx, c, out[i])
			close(out[i].done)
			if err := r.keepResult(ctx, c, out[i]); err != nil {
				return err
			}
		}
		return r.afterTools(ctx)
	}
	var wg sync.WaitGroup
	defer wg.Wait() // nothing of a batch outlives it, whatever happens below
	r.startTools(ctx, cancel, &wg, calls, out)
	for i, c := range calls {
		<-out[i].done
		if p := out[i].panic; p != nil {
			wg.Wait()
			panic(p)
		}
		if err := r.keepResult(ctx, c, out[i]); err != nil {
			cancel(err)
			return err
		}
	}
	return r.afterTools(ctx)
}

// startTools begins every call, at most ParallelTools at a time. A panic ends the others at once, whichever comes first.
func (r *run) startTools(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, calls []llm.ToolCall, out []*outcome) {
	slots := make(chan struct{}, r.c.ParallelTools)
	for i, c := range calls {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer close(out[i].done)
			defer func() {
				if v := recover(); v != nil {
					out[i].panic = &carriedPanic{value: v, stack: debug.Stack()}
					cancel(fmt.Errorf("tool %s panicked", c.Name))
				}
			}()
			slots <- struct{}{} // never blocks for good: whoever holds a slot ends with ctx
			defer func() { <-slots }()
			r.callTool(ctx, c, out[i])
		}()
	}
}

func (r *run) anyInteractive(calls []llm.ToolCall) bool {
	if r.c.Tools == nil {
		return false
	}
	for _, c := range calls {
		if r.c.Tools.Interactive(c.Name) {
			return true
		}
	}
	return false
}

// callTool runs one call unless the turn was stopped before.
func (r *run) callTool(ctx context.Context, c llm.ToolCall, o *outcome) {
	o.event = ToolEvent{CallID: c.ID, Name: c.Name, Arguments: c.Arguments}
	if ctx.Err() != nil {
		o.content, o.effect = resultNotRun, EffectNone
		o.event.Result, o.event.IsError = o.content, true
		return
	}
	start := o.event
	r.emit(Event{Kind: EventToolStart, Tool: &start})
	begin := r.c.Clock.Now()
	// A tool's time begins when it may run: how long a person thought about it is not the tool's.
	res := r.dispatch(ctx, c, func() { begin = r.c.Clock.Now() })
	o.content = res.Content
	o.event.Result, o.event.IsError, o.event.Took = res.Content, res.IsError, r.c.Clock.Since(begin)
}

func (r *run) dispatch(ctx context.Context, c llm.ToolCall, answered func()) tools.Result {
	if r.c.Tools == nil {
		b, _ := json.Marshal(map[string]string{"error": "there is no tool " + c.Name + ": this profile has none"})
		return tools.Result{IsError: true, Content: string(b)}
	}
	return r.c.Tools.Run(ctx, r.t.SessionID, tools.Call{ID: c.ID, Name: c.Name, Arguments: arguments(c)}, r.approver(answered))
}

// keepResult stores a result and then reports it.
func (r *run) keepResult(ctx context.Context, c llm.ToolCall, o *outcome) *Error {
	if err := r.append(ctx, toolRow(c, o.content, o.effect)); err != nil {
		return err
	}
	r.noteResult(*o)
	return nil
}

// noteResult counts and reports a result that is stored.
func (r *run) noteResult(o outcome) {
	if o.effect != EffectNone {
		r.result.ToolCalls++
	}
	r.emit(Event{Kind: EventToolEnd, Tool: &o.event})
}

// afterTools tells a stopped turn, whose results are all stored by now, from one that goes on.
func (r *run) afterTools(ctx context.Context) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return nil
}

// approver wraps the turn's approve function with events and makes tools that run side by side ask one at a time.
// answered is called, on the caller's goroutine, after each question.
func (r *run) approver(answered func()) tools.ApproveFunc {
	if r.t.Approve == nil {
		return nil
	}
	return func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
		r.askMu.Lock()
		defer r.askMu.Unlock()
		defer answered()
		if ctx.Err() != nil {
			return tools.DecisionDeny, context.Cause(ctx)
		}
		r.emit(Event{Kind: EventApproval, Approval: &ApprovalEvent{Request: q}})
		d, err := r.t.Approve(ctx, q)
		if err != nil {
			d = tools.DecisionDeny
		}
		r.emit(Event{Kind: EventApprovalDone, Approval: &ApprovalEvent{Request: q, Decision: d}})
		return d, err
	}
}
