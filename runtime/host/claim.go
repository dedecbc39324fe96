package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"sync"
)

// ErrRetracted means that the record was withdrawn because this process is ending; it is not published again.
var ErrRetracted = errors.New("the rendezvous record was retracted")

// ErrNotClaimed means that a record can be published only by the holder of the host lock.
var ErrNotClaimed = errors.New("the host lock is not held by this process")

// Offer is what a process says about itself when it claims a role.
type Offer struct {
	// Home is the HERMES_HOME the process was launched with.
	Home string
	// Argv is its command line, for people who ask who holds the lock.
	Argv []string
	// Host and Port say where an HTTP role listens; nil Port for none.
	Host string
	Port *int
	// Token authenticates attaching clients of an HTTP role, "" for none.
	Token string
}

// ClaimResult is the result of [Rendezvous.Claim].
type ClaimResult struct {
	Outcome LockOutcome
	// Holder names the holder when Outcome is HeldByAnother and it has said who it is.
	Holder *PIDRecord
	// Err is the operating system's error when Outcome is CouldNotOpen. With Acquired it says that the record or token
	// could not be published: the lock protects the role all the same, and only others' lookups suffer.
	Err error
}

// Claim takes the host lock for life and publishes a record with an empty served set; [Rendezvous.Publish] follows with
// the settled one. Claiming again while the lock is held succeeds without doing anything. CouldNotOpen is not contention:
// the caller starts anyway, without a record.
// Implements G-225 and G-226.
func (r *Rendezvous) Claim(offer Offer) ClaimResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		return ClaimResult{Outcome: Acquired}
	}
	if err := prepareLockDir(r.cfg.Dir, r.cfg.UID); err != nil {
		return ClaimResult{Outcome: CouldNotOpen, Err: err}
	}
	attempt := TryLock(r.LockPath())
	switch attempt.Outcome {
	case CouldNotOpen:
		return ClaimResult{Outcome: CouldNotOpen, Err: attempt.Err}
	case HeldByAnother:
		return ClaimResult{Outcome: HeldByAnother, Holder: livingHolder(r.LockPath(), r.cfg.Observe)}
	}
	r.lock = attempt.Lock
	r.retracted = false
	return ClaimResult{Outcome: Acquired, Err: r.introduce(offer)}
}

// introduce names the holder in the lock and publishes token and first record, in that order.
func (r *Rendezvous) introduce(offer Offer) error {
	holder := NewPIDRecord(offer.Home, offer.Argv)
	data, err := json.Marshal(holder)
	if err != nil {
		return fmt.Errorf("encode lock holder: %w", err)
	}
	if err := r.lock.WriteOwner(append(data, '\n')); err != nil {
		return err
	}
	self := r.cfg.Observe(holder.PID)
	r.record = Record{
		Role: r.cfg.Role, Home: offer.Home, PID: holder.PID, Host: offer.Host, Port: offer.Port,
		ProtocolVersion: RecordProtocolVersion, TokenFingerprint: TokenFingerprint(offer.Token),
		StartTime: self.StartTime, BootID: self.BootID,
	}
	if self.CreateTime > 0 {
		r.record.CreateTime = &self.CreateTime
	}
	if err := r.publishToken(offer.Token); err != nil {
		return fmt.Errorf("publish the token, and therefore no record: %w", err)
	}
	return r.write(nil)
}

// publishToken puts the token in its place, or removes one that a previous owner left.
func (r *Rendezvous) publishToken(token string) error {
	if token != "" {
		return writePrivate(r.TokenPath(), []byte(token))
	}
	if err := os.Remove(r.TokenPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write publishes the record with the given served set. The token is in place already.
func (r *Rendezvous) write(profiles []string) error {
	r.record.Profiles = profiles
	r.record.UpdatedAt = stamp(r.cfg.Clock.Now())
	data, err := r.record.encode()
	if err != nil {
		return fmt.Errorf("encode rendezvous record: %w", err)
	}
	r.writes.Add(1)
	if err := writePrivate(r.RecordPath(), data); err != nil {
		return fmt.Errorf("publish rendezvous record: %w", err)
	}
	r.published = true
	return nil
}

// Publish replaces the record's served set once it is settled, and whenever it changes. It returns [ErrNotClaimed]
// without the host lock and [ErrRetracted] after [Rendezvous.Retract].
// Implements G-226.
func (r *Rendezvous) Publish(profiles []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.retracted:
		return ErrRetracted
	case r.lock == nil || !r.lock.Intact():
		return ErrNotClaimed
	case r.record.PID == 0 || (r.record.TokenFingerprint != "" && !r.published):
		return errors.New("the claim could not publish its token; restart to claim again")
	}
	return r.write(profiles)
}

// Held reports whether this process still holds the role exclusively.
func (r *Rendezvous) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lock != nil && r.lock.Intact()
}

// Retract removes this process's own record and token at once but keeps the lock: nobody attaches to a process that is
// ending, and nobody starts beside it before it has ended.
func (r *Rendezvous) Retract() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retract()
}

func (r *Rendezvous) retract() error {
	if r.lock == nil {
		return nil
	}
	r.retracted = true
	if r.record.PID == 0 {
		return nil
	}
	_, err := r.remove(r.record)
	return err
}

// Clear removes this process's own record and token and then releases the lock. It is the last thing a process does;
// clearing twice is harmless.
// Implements G-229.
func (r *Rendezvous) Clear() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil
	}
	err := r.retract()
	err = errors.Join(err, r.lock.Release())
	r.lock, r.published, r.record = nil, false, Record{}
	return err
}

// RetractOnSignal retracts the record when one of the signals arrives and then hands it to next, so that the record is
// gone before a long drain begins. Call stop to end the watch; it waits until the watcher is gone, so next must not call
// it. Stopping twice is harmless.
// Implements the signal part of G-229.
func (r *Rendezvous) RetractOnSignal(next func(os.Signal), signals ...os.Signal) (stop func()) {
	arrived := make(chan os.Signal, 1)
	quit, gone := make(chan struct{}), make(chan struct{})
	signal.Notify(arrived, signals...)
	go func() {
		defer close(gone)
		for {
			select {
			case sig := <-arrived:
				if err := r.Retract(); err != nil {
					r.cfg.Log.Error(err, "retract the rendezvous record on a signal", "signal", sig.String())
				}
				next(sig)
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(arrived)
		close(quit)
		<-gone
	})
}
