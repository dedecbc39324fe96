package localapi

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"hermes.dev/hermes/runtime/tools"
)

// approvals are the questions that wait for a person.
type approvals struct {
	mu      sync.Mutex
	waiting map[question]chan reply
}

// reply is what a client has sent: a decision about a call, or the text that answers a question of the agent.
type reply struct {
	decision tools.Decision
	isText   bool
	text     string
}

// settle gives a request its reply. Text is no permission, and a permission is no answer.
func (d reply) settle(r tools.ApprovalRequest) (tools.Decision, error) {
	switch {
	case d.decision == decisionNobody:
		return tools.DecisionDeny, errNobody
	case d.isText != (r.Question != nil) && d.decision != tools.DecisionDeny:
		return tools.DecisionDeny, errMismatch
	case d.isText:
		r.Question.Answer = d.text
	}
	return d.decision, nil
}

// question names one: two profiles may well have a session and a call of the same name.
type question struct{ profile, session, call string }

// asker asks for one profile. The stream has announced and shown the question already;
// when the client goes away ctx ends and the call is denied.
func (a *approvals) asker(profile string) tools.ApproveFunc {
	return func(ctx context.Context, r tools.ApprovalRequest) (tools.Decision, error) {
		key := question{profile, r.SessionID, r.CallID}
		answer := a.expect(key)
		defer a.forget(key, answer)
		select {
		case d := <-answer:
			return d.settle(r)
		case <-ctx.Done():
			return tools.DecisionDeny, context.Cause(ctx)
		}
	}
}

// expect takes an answer from now on: a question is expected before it is shown,
// because its answer may come at once.
func (a *approvals) expect(key question) chan reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[question]chan reply{}
	}
	if answer, ok := a.waiting[key]; ok {
		return answer
	}
	answer := make(chan reply, 1)
	a.waiting[key] = answer
	return answer
}

func (a *approvals) forget(key question, answer chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting[key] == answer {
		delete(a.waiting, key)
	}
}

// answer gives a decision and reports whether the question was waiting.
func (a *approvals) answer(key question, d reply) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.waiting[key]
	if !ok {
		return false
	}
	select {
	case c <- d:
		return true
	default: // answered already
		return false
	}
}

// decisionNobody is the answer of a client that has nobody to ask: the model must not
// be told that a person refused.
const decisionNobody = tools.Decision(-1)

var (
	errNobody   = errors.New("nobody is present to give it")
	errMismatch = errors.New("the client sent a decision for a question, or an answer for a decision")
)

var decisions = map[string]tools.Decision{
	"once": tools.DecisionOnce, "session": tools.DecisionSession, "always": tools.DecisionAlways, "deny": tools.DecisionDeny,
	"nobody": decisionNobody,
}

func (h *handler) decide(w http.ResponseWriter, r *http.Request, _ Profile) {
	var body Decision
	if err := decode(w, r, &body); err != nil {
		writeError(w, err)
		return
	}
	d, ok := decisions[body.Decision]
	given := reply{decision: d}
	if body.Decision == decisionAnswer {
		given, ok = reply{decision: tools.DecisionOnce, isText: true, text: body.Answer}, body.Answer != ""
	}
	if !ok {
		writeError(w, badRequest("decision must be once, session, always, deny or nobody, or answer with the text in answer"))
		return
	}
	if !h.approvals.answer(question{r.PathValue("profile"), r.PathValue("session"), r.PathValue("call")}, given) {
		writeError(w, notFound("no_such_approval", "no approval of that session and call is waiting"))
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// decisionAnswer is the decision that answers a question of the agent.
const decisionAnswer = "answer"

// decisionName is the word for a decision.
func decisionName(d tools.Decision) string {
	for name, known := range decisions {
		if known == d {
			return name
		}
	}
	return "deny"
}
