package delegation

import (
	"container/list"
	"sync"
)

// maxSeen bounds what is remembered as delivered; what is oldest is forgotten first.
const maxSeen = 1024

// Identity is what makes two events the same one; "" is an event without a stable identity, which is always delivered.
func Identity(eventType, delegationID string) string {
	if delegationID == "" {
		return ""
	}
	return eventType + "\x00" + delegationID
}

// Deliveries suppresses duplicates within one life of a gateway. Its methods are safe for concurrent use.
//
// Implements S-226.
type Deliveries struct {
	mu       sync.Mutex
	inFlight map[string]bool
	done     map[string]*list.Element
	order    list.List
}

// Begin takes an event for delivery; false when it is being or has been delivered.
func (d *Deliveries) Begin(identity string) bool {
	if identity == "" {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inFlight[identity] || d.done[identity] != nil {
		return false
	}
	if d.inFlight == nil {
		d.inFlight, d.done = map[string]bool{}, map[string]*list.Element{}
	}
	d.inFlight[identity] = true
	return true
}

// Held says whether an event is being delivered.
func (d *Deliveries) Held(identity string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inFlight[identity]
}

// End gives an event back; delivered says that it must not come again.
func (d *Deliveries) End(identity string, delivered bool) {
	if identity == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, identity)
	if !delivered || d.done[identity] != nil {
		return
	}
	d.done[identity] = d.order.PushBack(identity)
	if d.order.Len() > maxSeen {
		oldest := d.order.Remove(d.order.Front())
		delete(d.done, oldest.(string))
	}
}
