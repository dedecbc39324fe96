package profile

import (
	"context"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
)

// Health is what a runtime says of itself.
type Health struct {
	// Reason is empty while turns are taken, else one of the v1alpha1.Reason constants.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// Store is what was last seen of the session store, nil before it was opened.
	Store *v1alpha1.StoreStatus
	// Backup is what is known of scheduled backups, nil when none are scheduled.
	Backup *BackupHealth
}

// storeHealth is what was last seen of the store.
type storeHealth struct {
	err   error
	stats *v1alpha1.StoreStatus
}

// Health returns what is known now. It opens no store; it looks whether the
// configuration on disk can be used.
func (r *Runtime) Health() Health {
	config, ring, invalid := r.checkConfig()
	skills := ""
	if invalid == nil {
		skills = r.missingSkills(config)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := Health{Message: v1alpha1.MessageServed + " in " + r.o.Paths.Home, Store: r.health.stats, Backup: r.backups.health}
	switch {
	case r.breaker.open(r.o.Clock.Now()):
		h.Reason = v1alpha1.ReasonRuntimeFailed
		h.Message = (&CrashError{Cause: r.crash, Until: r.breaker.until}).Error()
	case r.health.err != nil:
		h.Reason, h.Message = storeReason(r.health.err), r.health.err.Error()
	case invalid != nil:
		h.Reason, h.Message = v1alpha1.ReasonConfigInvalid, invalid.Error()
	default:
		switch reason, message := r.checkModel(config, ring); {
		case reason != "":
			h.Reason, h.Message = reason, message
		default:
			h.Message = joined(joined(h.Message, message), skills)
		}
		if h.Reason == "" {
			h.Message += r.serverMessage()
		}
	}
	return h
}

// checkConfig reads what the next turn would run on, or says why that is not usable.
func (r *Runtime) checkConfig() (config *home.Config, ring keyRing, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &ConfigError{Err: fmt.Errorf("it cannot be read: %v", p)}
		}
	}()
	config, err = r.config.Read()
	if err == nil {
		var s settings
		if s, err = readSettings(config, r.o.Paths); err == nil {
			err = s.check(r.o.Paths)
		}
	}
	if err == nil {
		_, err = r.env.Environment()
	}
	if err == nil {
		ring, err = r.readKeys(config)
	}
	if err != nil {
		return nil, ring, &ConfigError{Err: err}
	}
	return config, ring, nil
}

// storeReason maps a failure of the store to a condition reason.
func storeReason(err error) string {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return v1alpha1.ReasonStoreCorrupt
	case errors.Is(err, store.ErrStoreBusy):
		return v1alpha1.ReasonHomeInUse
	default:
		return v1alpha1.ReasonStoreUnavailable
	}
}

// CheckStore opens an existing store once, so that a damaged one is known before
// the first message, reads its figures, and closes it again unless somebody uses it.
// A home without a store is well and stays without one.
func (r *Runtime) CheckStore(ctx context.Context) {
	if _, err := os.Lstat(r.o.Paths.Store()); err != nil {
		return // lstat opens nothing (S-133)
	}
	if r.admit() != nil {
		return
	}
	defer r.leave()
	defer r.contain()
	s, release, err := r.store.acquire(ctx)
	if err == nil {
		defer r.store.closeUnused()
		defer release()
		r.recoverDelegations(ctx, s)
	}
	r.noteStore(ctx, err)
}

// noteStore keeps what a use of the store showed and tells when that is news.
func (r *Runtime) noteStore(ctx context.Context, err error) {
	var turn *agent.Error
	if errors.As(err, &turn) && turn.Kind != agent.KindPersistence {
		err = nil // the store did its part
	}
	var config *ConfigError
	if errors.As(err, &config) {
		r.o.Changed() // Health looks at the configuration itself
		return
	}
	if err != nil && !isStoreError(err) {
		return
	}
	now := storeHealth{err: err}
	if err == nil {
		now.stats, now.err = r.stats(ctx)
	}
	r.mu.Lock()
	if now.stats == nil {
		now.stats = r.health.stats
	}
	news := fmt.Sprint(r.health.err) != fmt.Sprint(now.err) || !r.health.stats.Equal(now.stats)
	r.health = now
	r.watchStore()
	r.mu.Unlock()
	if news {
		r.o.Changed()
	}
}

func isStoreError(err error) bool {
	return store.Classify(err) != store.BucketUnknown || errors.Is(err, store.ErrStoreBusy) || errors.Is(err, store.ErrSchema)
}

// stats reads the figures of a store that is open anyway; a closed one is not opened for them.
func (r *Runtime) stats(ctx context.Context) (*v1alpha1.StoreStatus, error) {
	if !r.store.isOpen() {
		return nil, nil
	}
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return nil, nil // closed meanwhile
	}
	defer release()
	st, err := s.Stats(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.StoreStatus{SchemaVersion: int32(st.SchemaVersion), SizeBytes: st.SizeBytes, Sessions: st.Sessions}
	if !st.LastActivity.IsZero() {
		t := metav1.NewTime(st.LastActivity.Truncate(1e9))
		out.LastActivity = &t
	}
	return out, st.Damage
}
