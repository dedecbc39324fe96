package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/store"
)

// PlatformSession is the delivery lane of conversations of this profile: deliver "session:ID", or "origin" for a job that
// was made in one.
const PlatformSession = "session"

// deliverPatience is how long a delivery waits for a session that answers.
const deliverPatience = 60 * time.Second

// cronDirectory is where the profile's jobs can deliver.
func cronDirectory() cron.Directory { return cron.Directory{Platforms: []string{PlatformSession}} }

// cronDeliverer brings what runs end with to conversations.
type cronDeliverer struct{ r *Runtime }

var _ cron.Deliverer = cronDeliverer{}

// Deliver implements cron.Deliverer: the text becomes a labelled row of the session, which its next turn reads. It waits
// for a turn that is in progress there.
//
// Implements C-232 for sessions.
func (c cronDeliverer) Deliver(ctx context.Context, to cron.Target, text string, failure bool) (cron.Receipt, error) {
	switch to.Platform {
	case PlatformSession:
	case cron.TargetBotChat:
		return cron.Receipt{}, errors.New("bot chats are not delivered to in this version: deliver to a session, or local")
	default:
		return cron.Receipt{}, fmt.Errorf("no platform %q is connected", to.Platform)
	}
	label := "[A scheduled job of yours ended with this answer]"
	if failure {
		label = "[A scheduled job of yours failed]"
	}
	ctx, cancel := context.WithTimeout(ctx, deliverPatience)
	defer cancel()
	for {
		freed := c.r.awaitFree()
		err := c.r.changeClaimed(ctx, to.Chat, func(ctx context.Context, s *store.Store) error {
			if _, ok, err := s.Session(ctx, to.Chat); err != nil || !ok {
				return errors.Join(err, missing(to.Chat, ok))
			}
			_, err := s.Append(ctx, to.Chat, store.Message{Role: "user", Content: label + "\n\n" + text})
			return err
		})
		var busy *agent.Error
		if !errors.As(err, &busy) || busy.Kind != agent.KindBusy {
			return cron.Receipt{}, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return cron.Receipt{}, fmt.Errorf("%w, for %s", err, deliverPatience)
		}
	}
}
