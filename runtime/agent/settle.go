package agent

import (
	"context"
	"encoding/json"
	"strings"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// readOnlyTools is what a set of tools that knows which calls change nothing offers besides Tools.
type readOnlyTools interface {
	ReadOnly(c tools.Call) bool
}

var _ readOnlyTools = (*tools.Set)(nil)

// readsOnly reports whether a call may be run twice.
func (r *run) readsOnly(c llm.ToolCall) bool {
	t, ok := r.c.Tools.(readOnlyTools)
	return ok && t.ReadOnly(tools.Call{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
}

// arguments of a call; models leave them out when there are none.
func arguments(c llm.ToolCall) json.RawMessage {
	if strings.TrimSpace(c.Arguments) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

// settle ends the batch that a resumed turn was cut off in, and returns the rows with the results it stored. A call
// without a result that only reads is run again; of any other it is unknown whether it happened, and the model is told
// so: it is never run again silently. Results are stored in call order, each as soon as it is there. Implements L7.
func (r *run) settle(ctx context.Context, rows []store.Message) ([]store.Message, *Error) {
	for _, c := range unanswered(rows) {
		result := toolRow(c, resultUnknown, EffectUnknown)
		var o outcome
		reads := r.readsOnly(c)
		if reads {
			r.callTool(ctx, c, &o)
			result = toolRow(c, o.content, o.effect)
		}
		stored, err := r.c.Store.Append(context.WithoutCancel(ctx), r.t.SessionID, result)
		if err != nil {
			return nil, persistence(err)
		}
		rows = append(rows, stored...)
		if reads {
			r.noteResult(o)
		}
	}
	return rows, nil
}
