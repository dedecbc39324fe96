package profile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// dispatch begins a delegation that nobody waits for: its row is stored before a child runs, and it lives on after the
// turn.
//
// Implements S-202 and S-205.
func (r *Runtime) dispatch(ctx context.Context, f *family) (tools.Result, error) {
	d := delegation.Dispatch{
		Tasks: f.tasks, Sessions: f.ids, Model: f.e.settings.model, Routing: delegation.Origin([]byte(f.parent.Origin), f.parent.UserID),
	}
	task, err := json.Marshal(d)
	if err != nil {
		return tools.Result{}, err
	}
	id, err := newDelegationID()
	if err != nil {
		return tools.Result{}, err
	}
	if err := r.admit(); err != nil { // it is work of its own from here on
		return tools.Result{}, fmt.Errorf("nothing was delegated: %w", err)
	}
	row := store.Delegation{
		ID: id, OriginSession: f.parent.SessionKey, OriginSessionID: f.parent.ID, ParentSessionID: f.parent.ID, Task: task, DispatchedAt: f.began,
		OwnerPID: os.Getpid(), OwnerStartedAt: host.Observe(os.Getpid()).CreateTime,
	}
	r.courier.own(id)
	err = r.withStore(ctx, func(s *store.Store) error { return s.DispatchDelegation(ctx, row, f.e.settings.delegation.children) })
	if err != nil {
		r.courier.disown(id)
		r.leave()
		if errors.Is(err, store.ErrDelegationCapacity) {
			err = fmt.Errorf("nothing was delegated: %w, the limit of delegation.max_concurrent_children. Wait for one to end, or do the work yourself", err)
		}
		return tools.Result{}, err
	}
	f.e.turns.Add(1) // inside a turn of the same engine, so it is not retired yet
	r.background.Go(func() {
		defer r.leave()
		defer f.e.turns.Done()
		defer r.courier.disown(id)
		defer r.contain()
		ended := false
		defer func() {
			if !ended { // a panic is on its way out: the session is told, and the row holds no capacity
				r.finish(row, d, f.failed(errors.New("the profile's runtime crashed while it ran")))
			}
		}()
		r.await(f, row, d)
		ended = true
	})
	raw, err := json.Marshal(map[string]any{
		"status": "dispatched", "delegation_id": id, "sessions": f.ids,
		"note": "The work has begun. Its results come back to this conversation as a message of their own when nothing runs here: do not wait for them and do not ask for them.",
	})
	return tools.Result{Content: string(raw)}, err
}

func newDelegationID() (string, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("delegation id: %w", err)
	}
	return "deleg_" + hex.EncodeToString(b[:]), nil
}

// await runs the children of a dispatched delegation, keeps each result as it comes, and ends with the event.
func (r *Runtime) await(f *family, row store.Delegation, d delegation.Dispatch) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	if err := f.enter(ctx); err != nil {
		r.finish(row, d, f.failed(err))
		return
	}
	var so delegation.Recorded
	done := f.run(ctx, func(got delegation.Result) {
		so.Results = append(so.Results, got)
		state := delegation.StateRunning
		if len(so.Results) == len(f.tasks) {
			state = delegation.StateFinalizing
		}
		r.record(row.ID, state, so)
	})
	row.CompletedAt = r.o.Clock.Now()
	r.finish(row, d, done.Results)
}

func (r *Runtime) record(id, state string, so delegation.Recorded) {
	ctx := context.Background()
	err := r.withStore(ctx, func(s *store.Store) error {
		raw, err := json.Marshal(so)
		if err != nil {
			return err
		}
		_, err = s.RecordDelegation(ctx, id, state, raw)
		return err
	})
	if err != nil { // the results are in memory still, and in the children's sessions
		r.o.Log.Error(err, "a child's result was not recorded", "delegation", id)
	}
}

// finish stores the event of a delegation and has it delivered. What cannot be stored stays unfinished, and the next
// start of a gateway makes its event.
func (r *Runtime) finish(row store.Delegation, d delegation.Dispatch, results []delegation.Result) {
	if err := r.withStore(context.Background(), func(s *store.Store) error { return finishRow(s, row, d, results) }); err != nil {
		r.o.Log.Error(err, "the end of a delegation was not stored", "delegation", row.ID)
		return
	}
	r.courier.disown(row.ID)
	r.deliver(row.ID, row.ParentSessionID)
}

func finishRow(s *store.Store, row store.Delegation, d delegation.Dispatch, results []delegation.Result) error {
	ctx := context.Background()
	e := delegation.Complete(eventRow(row), d, results)
	event, err := json.Marshal(e)
	if err != nil {
		return err
	}
	result, err := json.Marshal(delegation.Recorded{Results: results})
	if err != nil {
		return err
	}
	if _, err := s.FinishDelegation(ctx, row.ID, e.Status, event, result, row.CompletedAt); err != nil {
		return err
	}
	return s.TrimDelegations(ctx)
}

func eventRow(row store.Delegation) delegation.Row {
	return delegation.Row{
		ID: row.ID, SessionKey: row.OriginSession, OriginUISessionID: row.OriginUISessionID, OriginSessionID: row.OriginSessionID,
		ParentSessionID: row.ParentSessionID, DispatchedAt: row.DispatchedAt, CompletedAt: row.CompletedAt,
	}
}

// Delegations lists the work that was handed to children and not waited for, the newest first; of one session, or with
// "" of all.
func (r *Runtime) Delegations(ctx context.Context, session string) (list []store.Delegation, err error) {
	err = r.withStore(ctx, func(s *store.Store) error {
		list, err = s.Delegations(ctx, session, 0)
		return err
	})
	return list, err
}

// ownerDead says whether the process that runs a delegation is gone, or is this one and does not run it.
func (r *Runtime) ownerDead(row store.Delegation) bool {
	if row.OwnerPID == os.Getpid() && host.SameCreateTime(row.OwnerStartedAt, host.Observe(row.OwnerPID).CreateTime) {
		return !r.courier.owns(row.ID)
	}
	seen := host.Observe(row.OwnerPID)
	return delegation.OwnerDead(delegation.Seen{
		Gone: seen.State == host.Dead, StartKnown: row.OwnerStartedAt > 0 && seen.CreateTime > 0,
		SameStart: host.SameCreateTime(row.OwnerStartedAt, seen.CreateTime),
	})
}
