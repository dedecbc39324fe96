package chat

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

// interruptPatience is how long a gateway has to acknowledge an interrupt before the connection is cut instead.
const interruptPatience = 3 * time.Second

// turn runs one turn and shows it. The first Ctrl-C asks the gateway to interrupt and waits for the turn's end, so
// that the session is free for the next one; the second cuts the connection, which interrupts as well.
func (c *Chat) turn(ctx context.Context, r Display, text string, resume bool) (localapi.Final, error) {
	var stops sync.WaitGroup
	defer stops.Wait()
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	done := make(chan struct{})
	defer close(done)
	var pressed atomic.Int32
	c.interrupt = func() {
		if pressed.Add(1) == 1 {
			stops.Go(func() { c.stop(ctx, cut) })
			return
		}
		c.leave = true
		cut(errInterrupt)
	}
	c.forgetInterrupts()
	stops.Go(func() {
		for {
			select {
			case <-c.Interrupts:
				c.interrupt()
			case <-done:
				return
			}
		}
	})
	req := localapi.CompletionRequest{
		Model:  c.Target.Profile,
		Hermes: &localapi.Extension{Session: c.Session, Source: Source, Resume: resume},
	}
	if !resume {
		req.Messages = []localapi.RequestMessage{{Role: "user", Content: localapi.Content(text)}}
	}
	return c.Client.Stream(ctx, req, func(i localapi.StreamItem) {
		r.Handle(i)
		if i.Event != nil && i.Event.Type == "approval" {
			c.approve(ctx, r, *i.Event)
		}
		if i.Event != nil && i.Event.Type == "question" {
			c.answer(ctx, r, *i.Event)
		}
	})
}

// stop asks the gateway to interrupt the turn; a gateway that knows of none, or does not answer, is cut off.
func (c *Chat) stop(ctx context.Context, cut context.CancelCauseFunc) {
	asking, cancel := context.WithTimeout(ctx, interruptPatience)
	defer cancel()
	if ok, err := c.Client.Interrupt(asking, c.Target.Profile, c.Session); err != nil || !ok {
		cut(errInterrupt)
	}
}

// forgetInterrupts drops a Ctrl-C from before the turn.
func (c *Chat) forgetInterrupts() {
	select {
	case <-c.Interrupts:
	default:
	}
}
