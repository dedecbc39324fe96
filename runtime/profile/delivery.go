package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
)

// errMoved means that what a delivery was resolved to does not hold any more.
var errMoved = errors.New("the conversation went on elsewhere meanwhile")

// delivery is one attempt to bring the end of a delegation to the session that delegated.
type delivery struct {
	r     *Runtime
	id    string
	claim string
	event delegation.Event
}

// run waits until nothing runs in the session, claims the row and has the notice said there as a turn of its own. It is
// true when the row is settled, told or dropped.
//
// Implements S-206, S-212, S-214 and S-220.
func (d *delivery) run(ctx context.Context) (over bool) {
	for {
		freed := d.r.awaitFree()
		over, again, err := d.attempt(ctx)
		if err != nil && ctx.Err() == nil {
			d.r.o.Log.Error(err, "the end of a delegation was not delivered", "delegation", d.id)
		}
		if !again || ctx.Err() != nil {
			return over
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// attempt is run for the session as it is now; again says that something runs there.
func (d *delivery) attempt(ctx context.Context) (over, again bool, err error) {
	parent, target, err := d.resolve(ctx)
	if err != nil {
		return false, false, err
	}
	verdict := delegation.Classify(parent)
	if verdict == delegation.Deliver && d.r.answers(target.ID) {
		return false, true, nil // before the claim: waiting is no attempt
	}
	claimed, err := d.settle(ctx, (*store.Store).ClaimDelegation)
	if err != nil || !claimed {
		return false, false, err // it is another's, or told already
	}
	switch {
	case verdict == delegation.Terminal:
		d.r.o.Log.Info("the end of a delegation is dropped: its conversation is over", "delegation", d.id, "session", d.event.ParentSessionID)
		return d.finally((*store.Store).DropDelegation)
	case verdict == delegation.Retry:
		_, _, err := d.finally((*store.Store).ReleaseDelegation)
		return false, false, err
	case !d.event.Owns(target.ID, target.SessionKey, parent.Reason == session.EndCompression):
		_, _, err := d.finally((*store.Store).DeferDelegation)
		return false, false, errors.Join(err, fmt.Errorf("session %s has no claim to it", target.ID))
	}
	return d.inject(ctx, target)
}

// inject says the notice in the session. Told once means that the row of the notice is stored: a crash between it and
// the end of the claim finds that row.
func (d *delivery) inject(ctx context.Context, target store.Session) (over, again bool, err error) {
	told, err := d.told(target.ID)
	if err == nil && !told {
		_, err = d.r.turn(ctx, agent.Turn{
			SessionID: target.ID, Source: target.Source, UserText: d.event.Notice(), PlatformMessageID: delegation.MessageID(d.id),
			DisplayKind: agent.DisplayNotice, DisplayMetadata: d.event.Metadata(),
		}, d.r.tellFollowers(target.ID), func(ctx context.Context) error { return d.stillThere(ctx, target.ID) })
		if told, _ = d.told(target.ID); told {
			err = nil // how the turn ended is the conversation's business
		}
	}
	switch {
	case err == nil:
		return d.finally((*store.Store).CompleteDelegation)
	case notTried(err):
		_, _, e := d.finally((*store.Store).DeferDelegation)
		return false, errors.Is(err, errMoved) || busy(err), e
	}
	_, _, e := d.finally((*store.Store).ReleaseDelegation)
	return false, false, errors.Join(err, e)
}

// notTried tells an injection that did not take place from one that failed.
func notTried(err error) bool {
	var crash *CrashError
	var config *ConfigError
	return busy(err) || errors.Is(err, errMoved) || errors.Is(err, ErrClosed) || errors.Is(err, ErrDraining) || errors.As(err, &crash) || errors.As(err, &config)
}

func busy(err error) bool {
	var ae *agent.Error
	return errors.As(err, &ae) && ae.Kind == agent.KindBusy
}

// stillThere checks, once the session is held, that it is still the one to be told: somebody may have begun anew
// meanwhile (S-222).
func (d *delivery) stillThere(ctx context.Context, target string) error {
	parent, now, err := d.resolve(ctx)
	if err != nil {
		return err
	}
	if delegation.Classify(parent) != delegation.Deliver || now.ID != target {
		return errMoved
	}
	return nil
}

// resolve reads the event, the session that delegated, and the one that is to be told.
func (d *delivery) resolve(ctx context.Context) (parent delegation.Parent, target store.Session, err error) {
	err = d.r.withStore(ctx, func(s *store.Store) error {
		row, ok, err := s.Delegation(ctx, d.id)
		if err != nil || !ok {
			return errors.Join(err, missing(d.id, ok))
		}
		if err := json.Unmarshal(row.Event, &d.event); err != nil {
			return fmt.Errorf("the event of delegation %s cannot be read: %w", d.id, err)
		}
		d.event.Restored = d.r.courier.restored(d.id)
		pinned, found, err := s.Session(ctx, row.ParentSessionID)
		if parent, err = d.look(ctx, s, pinned, found, err); err != nil {
			return err
		}
		target, err = d.target(ctx, s, parent, pinned)
		return err
	})
	return parent, target, err
}

// look describes the session that delegated as the classification sees it.
func (d *delivery) look(ctx context.Context, s *store.Store, pinned store.Session, found bool, err error) (delegation.Parent, error) {
	if err != nil {
		if ctx.Err() != nil {
			return delegation.Parent{}, err
		}
		return delegation.Parent{Unreadable: true}, nil
	}
	p := delegation.Parent{Missing: !found, Ended: !pinned.EndedAt.IsZero(), Reason: session.EndReason(pinned.EndReason)}
	if !p.Ended || p.Reason != session.EndCompression {
		return p, nil
	}
	ids, err := s.Conversation(ctx, pinned.ID)
	if err != nil || len(ids) == 0 {
		p.Tip.Unreadable = true
		return p, nil
	}
	tip, ok, err := s.Session(ctx, ids[len(ids)-1])
	p.Tip = delegation.Tip{ID: tip.ID, Unreadable: err != nil || !ok, Same: tip.ID == pinned.ID, Ended: !tip.EndedAt.IsZero()}
	return p, nil
}

// target is the session that S-221 resolves to; none for a verdict that delivers nothing.
func (d *delivery) target(ctx context.Context, s *store.Store, p delegation.Parent, pinned store.Session) (store.Session, error) {
	var current store.Session
	if pinned.SessionKey != "" {
		var err error
		if current, _, err = s.SessionByKey(ctx, pinned.SessionKey); err != nil {
			return store.Session{}, err
		}
	}
	child := session.Marked(pinned.ModelConfig, session.DelegateFrom, pinned.ParentID)
	id := delegation.Resolve(p, delegation.Guard(pinned.ID, current.ID, child, pinned.SessionKey, d.event.SessionKey), current.ID)
	switch id {
	case "":
		return store.Session{}, nil
	case pinned.ID:
		return pinned, nil
	}
	found, ok, err := s.Session(ctx, id)
	return found, errors.Join(err, missing(id, ok || err != nil))
}

func (d *delivery) told(target string) (told bool, err error) {
	err = d.r.withStore(context.Background(), func(s *store.Store) error {
		told, err = s.HasPlatformMessage(context.Background(), target, delegation.MessageID(d.id))
		return err
	})
	return told, err
}

// settle changes the row's delivery under this attempt's claim.
func (d *delivery) settle(ctx context.Context, change func(*store.Store, context.Context, string, string) (bool, error)) (ok bool, err error) {
	err = d.r.withStore(ctx, func(s *store.Store) error {
		ok, err = change(s, ctx, d.id, d.claim)
		return err
	})
	return ok, err
}

// finally settles even while the runtime closes; over is true when the row is settled for good.
func (d *delivery) finally(change func(*store.Store, context.Context, string, string) (bool, error)) (over, again bool, err error) {
	ok, err := d.settle(context.Background(), change)
	return ok, false, err
}

// answers reports whether something runs in a session.
func (r *Runtime) answers(sessionID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.running[sessionID]
	return ok
}
