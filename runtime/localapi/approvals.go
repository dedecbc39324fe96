package localapi

import (
	"context"
	"net/http"
	"sync"

	"hermes.dev/hermes/runtime/tools"
)

// approvals are the questions that wait for a person, by session and call.
type approvals struct {
	mu      sync.Mutex
	waiting map[[2]string]chan tools.Decision
}

// ask waits for the answer to a question. The stream has shown it already; when the
// client goes away ctx ends and the call is denied.
func (a *approvals) ask(ctx context.Context, r tools.ApprovalRequest) (tools.Decision, error) {
	key := [2]string{r.SessionID, r.CallID}
	answer := make(chan tools.Decision, 1)
	a.mu.Lock()
	if a.waiting == nil {
		a.waiting = map[[2]string]chan tools.Decision{}
	}
	a.waiting[key] = answer
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.waiting, key)
		a.mu.Unlock()
	}()
	select {
	case d := <-answer:
		return d, nil
	case <-ctx.Done():
		return tools.DecisionDeny, context.Cause(ctx)
	}
}

// answer gives a decision and reports whether the question was waiting.
func (a *approvals) answer(session, call string, d tools.Decision) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.waiting[[2]string{session, call}]
	if !ok {
		return false
	}
	delete(a.waiting, [2]string{session, call})
	c <- d
	return true
}

var decisions = map[string]tools.Decision{
	"once": tools.DecisionOnce, "session": tools.DecisionSession, "always": tools.DecisionAlways, "deny": tools.DecisionDeny,
}

func (h *handler) decide(w http.ResponseWriter, r *http.Request, _ Profile) {
	var body Decision
	if err := decode(w, r, &body); err != nil {
		writeError(w, err)
		return
	}
	d, ok := decisions[body.Decision]
	if !ok {
		writeError(w, badRequest("decision must be once, session, always or deny"))
		return
	}
	if !h.approvals.answer(r.PathValue("session"), r.PathValue("call"), d) {
		writeError(w, notFound("no_such_approval", "no approval of that session and call is waiting"))
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}
