package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

const (
	defaultChildren        = 3
	defaultChildIterations = 50
)

// delegationSettings are the keys delegation.* of config.yaml.
type delegationSettings struct {
	// children is how many asynchronous delegations, and how many children of one batch, run at the same time.
	children int
	// iterations is the budget of a child in model calls (L6).
	iterations int
}

func readDelegation(c *home.Config) (delegationSettings, error) {
	d := delegationSettings{children: defaultChildren, iterations: defaultChildIterations}
	for _, key := range []struct {
		name string
		into *int
	}{{"max_concurrent_children", &d.children}, {"max_iterations", &d.iterations}} {
		raw, set := c.Lookup("delegation", key.name)
		if !set {
			continue
		}
		n, ok := c.Int("delegation", key.name)
		if !ok || n < 1 || n > 1000 {
			return d, fmt.Errorf("delegation.%s is %v: use a whole number from 1 to 1000", key.name, raw)
		}
		*key.into = int(n)
	}
	return d, nil
}

// delegate runs one call of delegate_task. It is called inside the turn that delegates.
func (r *Runtime) delegate(ctx context.Context, c tools.Call) (tools.Result, error) {
	req, err := delegation.Parse(c.Arguments)
	if err != nil {
		return tools.Result{}, err
	}
	e, _, err := r.enter()
	if err != nil {
		return tools.Result{}, err
	}
	defer e.turns.Done()
	f := &family{r: r, e: e, tasks: req.Tasks, began: r.o.Clock.Now()}
	if err := f.prepare(ctx, c.Session()); err != nil {
		return tools.Result{}, err
	}
	if req.Async {
		return r.dispatch(ctx, f)
	}
	f.approve = childApproval(c.Session(), c.Approve())
	if err := f.enter(ctx); err != nil {
		return tools.Result{}, err
	}
	return f.run(ctx, nil).result()
}

// childApproval lets the person of the session that delegates answer what a child asks: the question stands in that
// session, and says that a child asks. nil stays nil: then nobody is there.
func childApproval(session string, ask tools.ApproveFunc) tools.ApproveFunc {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
		q.SessionID, q.Summary = session, "child agent: "+q.Summary
		return ask(ctx, q)
	}
}

// report is the results of a family.
type report struct {
	Results []delegation.Result `json:"results"`
	Status  string              `json:"status"`
}

// result is what the model that waited is told.
func (r report) result() (tools.Result, error) {
	raw, err := json.Marshal(r)
	return tools.Result{Content: string(raw), IsError: r.Status != delegation.StatusCompleted}, err
}

// outcome makes the result of a child of how its turn ended.
func outcome(res agent.Result, err error) delegation.Result {
	out := delegation.Result{Status: delegation.StatusCompleted, ExitReason: delegation.ExitCompleted, Summary: res.Reply, APICalls: res.ModelCalls}
	if err == nil {
		return out
	}
	out.Status, out.ExitReason, out.Error = delegation.StatusError, delegation.ExitError, err.Error()
	var ae *agent.Error
	if errors.As(err, &ae) {
		switch ae.Kind {
		case agent.KindInterrupted:
			out.Status, out.ExitReason = delegation.StatusInterrupted, delegation.ExitInterrupted
		case agent.KindBudget:
			out.ExitReason = delegation.ExitMaxIterations
			out.Error = fmt.Sprintf("the child used its %d model calls without a report: give it less at once, or raise delegation.max_iterations", res.ModelCalls)
		}
	}
	return out
}

// lastWords is what a child said last before it ended without a report; "" when that was nothing.
func lastWords(rows []store.Message) string {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Role == "assistant" && rows[i].DisplayKind == "" && rows[i].Content != "" {
			return rows[i].Content
		}
	}
	return ""
}
