package profile

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/store"
)

// courier brings the ends of delegations to the sessions that delegated. What it holds is in memory only: the rows of
// the store say what is owed, so that a crash at any point owes it still.
type courier struct {
	told delegation.Deliveries

	mu sync.Mutex
	// running are the delegations that this runtime runs, born those it dispatched: other rows are of an earlier life.
	running, born map[string]bool
	// queues are the deliveries that wait, by the session that delegated; a queue that is there has a goroutine.
	queues map[string][]string
	sweep  clock.Timer
}

func (c *courier) own(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running, c.born = map[string]bool{}, map[string]bool{}
	}
	c.running[id], c.born[id] = true, true
}

func (c *courier) disown(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

func (c *courier) owns(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[id]
}

func (c *courier) restored(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.born[id]
}

// enqueue adds a delivery to the queue of a session; first says that somebody has to work it off.
func (c *courier) enqueue(session, id string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues == nil {
		c.queues = map[string][]string{}
	}
	waiting, busy := c.queues[session]
	c.queues[session] = append(waiting, id)
	return !busy
}

// next takes the oldest delivery of a queue; "" ends the queue.
func (c *courier) next(session string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.queues[session]
	if len(waiting) == 0 {
		delete(c.queues, session)
		return ""
	}
	c.queues[session] = waiting[1:]
	return waiting[0]
}

// settled forgets a delivery that is over.
func (c *courier) settled(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.born, id)
}

// hold keeps the runtime's background open for a goroutine that is about to begin; false when it is closing.
func (r *Runtime) hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.background.Add(1)
	return true
}

// deliver has the end of a delegation brought to the session that delegated, after those that wait for it already. One
// session gets one at a time.
//
// Implements S-226.
func (r *Runtime) deliver(id, parent string) {
	identity := delegation.Identity(delegation.EventType, id)
	if !r.courier.told.Begin(identity) {
		return
	}
	if !r.hold() { // the next start delivers it
		r.courier.told.End(identity, false)
		return
	}
	if !r.courier.enqueue(parent, id) {
		r.background.Done()
		return
	}
	go func() {
		defer r.background.Done()
		for {
			id := r.courier.next(parent)
			if id == "" {
				return
			}
			r.deliverOne(id)
		}
	}()
}

// deliverOne tries one delivery. A panic ends it like any failure.
func (r *Runtime) deliverOne(id string) {
	over := false
	defer func() {
		r.courier.told.End(delegation.Identity(delegation.EventType, id), over)
		if over {
			r.courier.settled(id)
		} else {
			r.sweepLater()
		}
	}()
	defer r.contain()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	over = (&delivery{r: r, id: id, claim: r.o.RunID + "/" + id}).run(ctx)
}

// sweepLater looks again for what is owed, once for any number of calls, unless the runtime closes.
func (r *Runtime) sweepLater() {
	c := &r.courier
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sweep == nil && r.closing.Err() == nil {
		c.sweep = r.o.Clock.AfterFunc(delegation.SweepEvery, r.sweep)
	}
}

// sweep offers the rows that are nobody's. It goes on by itself while anything is owed, and costs nothing else.
//
// Implements S-213.
func (r *Runtime) sweep() {
	r.courier.mu.Lock()
	r.courier.sweep = nil
	r.courier.mu.Unlock()
	if r.hold() {
		go func() { // a clock may call under a lock of its own
			defer r.background.Done()
			defer r.contain()
			r.sweepRows()
		}()
	}
}

func (r *Runtime) sweepRows() {
	owed := 0
	err := r.withStore(r.closing, func(s *store.Store) error {
		rows, err := s.PendingDelegations(r.closing)
		owed = len(rows)
		r.offer(rows, r.o.Clock.Now())
		return err
	})
	if err != nil {
		r.o.Log.Error(err, "what delegated work has to tell was not looked for")
	}
	if err != nil || owed > 0 {
		r.sweepLater()
	}
}

// offer hands the rows that are nobody's to the courier.
func (r *Runtime) offer(rows []store.Delegation, now time.Time) {
	for _, row := range rows {
		o := delegation.Orphan{
			Finished: true, Pending: true, Event: true, // as PendingDelegations selects
			UpdatedAt: row.UpdatedAt, Claimed: row.Claim != "", ClaimedAt: row.ClaimedAt, OwnerDead: r.ownerDead(row),
			Held: r.courier.told.Held(delegation.Identity(delegation.EventType, row.ID)),
		}
		if o.Offer(now) {
			r.deliver(row.ID, row.ParentSessionID)
		}
	}
}

// stopSweep ends the timer; call it after the runtime has been closed to new work.
func (c *courier) stopSweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
}
