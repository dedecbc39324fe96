package profile

import (
	"context"

	"hermes.dev/hermes/runtime/agent"
)

// answering is a session's turn in progress; a change of the session holds its place without a mailbox.
type answering struct {
	cancel   context.CancelCauseFunc
	steering *agent.Steering
}

// listen opens the mailbox of a turn whose session is claimed.
func (r *Runtime) listen(sessionID string) *agent.Steering {
	mailbox := agent.NewSteering(agentStore{r.store}, sessionID)
	r.mu.Lock()
	defer r.mu.Unlock()
	turn := r.running[sessionID]
	turn.steering = mailbox
	r.running[sessionID] = turn
	return mailbox
}

// Steer says something to the running turn of a session. It is false when no turn runs, or the one that does takes
// nothing any more: say it as a turn of its own then. Implements P-38: a steer waits for no turn to end.
func (r *Runtime) Steer(ctx context.Context, sessionID, text string) (ok bool, err error) {
	defer r.catch(&err)
	r.mu.Lock()
	turn := r.running[sessionID]
	r.mu.Unlock()
	if turn.steering == nil {
		return false, nil
	}
	return turn.steering.Add(ctx, text)
}
