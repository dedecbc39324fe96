package agent

import (
	"context"
	"errors"
	"fmt"

	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// TaskCompression is the task under which the tokens of summaries are booked.
const TaskCompression = "compression"

// maxShrink is how often the transcript of a summary that the model refuses as too long is halved.
const maxShrink = 2

// summarise gives the text of a summary: the model's, or the one written without it when asking fails or must wait. The
// only error is a turn that was stopped.
func (r *run) summarise(
	ctx context.Context, p pass, plan compaction.Plan, state store.CompactionState, done *Compacted,
) (string, store.CompactionState, *Error) {
	now := r.c.Clock.Now()
	switch {
	case r.c.Compaction.NoModel:
		done.Fallback = true
		return plan.Fallback(), state, nil
	case !p.asked && !compaction.MayAsk(state, now):
		done.Fallback, done.Failure = true, state.Failure
		return plan.Fallback(), compaction.AfterFallback(state, "", "", now), nil
	}
	body, err := r.askSummary(ctx, p, plan)
	if err == nil {
		return body, compaction.AfterSummary(state), nil
	}
	if ctx.Err() != nil {
		return "", state, interrupted(ctx)
	}
	reason := llm.ReasonUnknown
	var call *llm.Error
	if errors.As(err, &call) {
		reason = call.Reason
	}
	r.c.Log.Info("no model wrote the summary: it is made of what is stored", "session", r.t.SessionID, "cause", err.Error())
	done.Fallback, done.Failure = true, err.Error()
	return plan.Fallback(), compaction.AfterFallback(state, reason, err.Error(), r.c.Clock.Now()), nil
}

// askSummary asks the model in a request of its own: no tools, nothing of the session's prefix. A transcript that is too
// long after all is halved.
func (r *run) askSummary(ctx context.Context, p pass, plan compaction.Plan) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, summaryTime, fmt.Errorf("no summary within %s", summaryTime))
	defer cancel()
	for shrink := 0; ; shrink++ {
		req := plan.Ask(p.focus, shrink)
		req.Model, req.NoStream, req.NoThinking = r.c.ModelName, r.noStream, true
		resp, err := r.c.Model.Stream(ctx, req, nil)
		var call *llm.Error
		switch {
		case err == nil:
			r.bookSummary(ctx, resp)
			body, ok := plan.Accept(resp)
			if !ok {
				return "", errors.New("the model answered without a summary")
			}
			return body, nil
		case errors.As(err, &call) && call.Compress && shrink < maxShrink:
			continue
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
		return "", err
	}
}

// bookSummary records the tokens of a summary. They are bookkeeping, like those of an answer.
func (r *run) bookSummary(ctx context.Context, resp llm.Response) {
	u := store.Usage{
		Model: resp.Model, BillingProvider: r.c.Provider, BillingBaseURL: r.c.BaseURL, Task: TaskCompression, APICalls: 1,
		InputTokens: resp.Usage.Input, OutputTokens: resp.Usage.Output, CacheReadTokens: resp.Usage.CacheRead,
		CacheWriteTokens: resp.Usage.CacheWrite, ReasoningTokens: resp.Usage.Reasoning,
	}
	if resp.Provider != "" {
		u.BillingProvider, u.BillingBaseURL = resp.Provider, resp.BaseURL
	}
	if u.Model == "" {
		u.Model = r.c.ModelName
	}
	if err := r.c.Store.AddUsage(context.WithoutCancel(ctx), r.t.SessionID, u); err != nil {
		r.c.Log.Error(err, "token usage of a summary not recorded", "session", r.t.SessionID)
	}
}
