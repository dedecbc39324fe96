package profile

import (
	"context"
	"time"

	"hermes.dev/hermes/runtime/agent"
)

// titlePatience bounds the model's second thoughts about a title, retries included.
const titlePatience = time.Minute

// entitle asks the model for the title of a session in the background; call it inside the turn that found it due. It
// delays no reply and no drain, and a failure shows in the log only: the derived title stays.
func (r *Runtime) entitle(e *engine, sessionID string) {
	if !e.settings.titles {
		return
	}
	e.turns.Add(1) // inside a turn of the same engine, so it is not retired yet
	r.background.Go(func() {
		defer r.contain()
		defer e.turns.Done()
		ctx, cancel := context.WithTimeout(r.closing, titlePatience)
		defer cancel()
		event, ok, err := e.loop.Title(ctx, sessionID)
		switch {
		case err != nil:
			r.o.Log.Info("no title from the model", "session", sessionID, "cause", err.Error())
		case ok:
			r.titled(event)
		}
	})
}

// titled hands a title on.
func (r *Runtime) titled(e agent.TitleEvent) {
	if r.o.Titled != nil {
		r.o.Titled(e)
	}
}

// tellTitles hands the titles among a turn's events on.
func (r *Runtime) tellTitles(events agent.Events) agent.Events {
	return func(e agent.Event) {
		if e.Kind == agent.EventTitle {
			r.titled(*e.Title)
		}
		if events != nil {
			events(e)
		}
	}
}
