package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
)

// RestoreRequest says what is restored.
type RestoreRequest struct {
	// Path of the backup, absolute.
	Path string
	// Files restores the profile's files too, except those its declaration owns.
	Files bool
	// DryRun verifies the backup and says what would be done.
	DryRun bool
	// AnyProfile accepts the backup of another profile.
	AnyProfile bool
}

// ErrBusy means that turns are running, so the store cannot be replaced now.
var ErrBusy = errors.New("turns are running: wait for them, or stop them, then restore again")

// restorePatience is how long a restore waits for short uses of the store, such as a listing, to end.
const restorePatience = 5 * time.Second

// Restore replaces the profile's store, and its files when asked, by those of a backup. The backup is verified first,
// and what is replaced is kept. A running turn is never cut off: the error then is ErrBusy and nothing was changed. Turns
// that begin meanwhile wait and find the restored store.
func (r *Runtime) Restore(ctx context.Context, req RestoreRequest) (done backup.Restored, err error) {
	if err := r.admitRestore(); err != nil {
		return backup.Restored{}, err
	}
	defer r.leave()
	defer r.catch(&err)
	staged, err := stageRestore(ctx, r.o.Paths, req, backup.RestoreOptions{Files: req.Files, Now: r.o.Clock.Now(), Log: r.o.Log})
	if err != nil {
		return backup.Restored{}, err
	}
	if req.DryRun {
		return staged.Plan(), staged.Discard()
	}
	committed := false
	err = r.store.exclusively(ctx, func() error {
		committed = true
		done, err = staged.Commit()
		return err
	})
	if !committed {
		return backup.Restored{}, errors.Join(err, staged.Discard())
	}
	r.restored(ctx)
	return done, err
}

// stageRestore verifies a backup and lays out what it would put in place.
func stageRestore(ctx context.Context, paths home.Paths, req RestoreRequest, o backup.RestoreOptions) (*backup.Staged, error) {
	declared, err := home.Declared(paths.Home)
	if err != nil {
		return nil, err
	}
	target := backup.Target{Profile: paths.Name, Home: paths.Home, Check: checkSnapshot, Declared: declared}
	return backup.Stage(ctx, target, req.Path, req.AnyProfile, o)
}

// restored forgets what was built on the replaced store and looks at the new one.
func (r *Runtime) restored(ctx context.Context) {
	r.Reload()
	r.mu.Lock()
	r.retire(r.engine)
	r.engine = nil
	r.health = storeHealth{}
	r.mu.Unlock()
	r.CheckStore(context.WithoutCancel(ctx))
	r.o.Changed()
}

// admitRestore is admit for what needs a profile without a turn, and may cure one whose runtime crashed.
func (r *Runtime) admitRestore() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.draining:
		return ErrDraining
	case len(r.running) > 0:
		return ErrBusy
	}
	r.active++
	r.background.Add(1)
	return nil
}

// exclusively runs f while nobody has the store open and nobody can open it: neither this process, whose users wait, nor
// another one. ErrBusy says that a user did not leave in time.
func (l *lazyStore) exclusively(ctx context.Context, f func() error) error {
	patience := l.clock.NewTimer(restorePatience)
	defer patience.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.users > 0 {
		if l.unused == nil {
			l.unused = make(chan struct{})
		}
		left := l.unused
		l.mu.Unlock()
		var err error
		select {
		case <-left:
		case <-patience.C():
			err = ErrBusy
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	if l.closed {
		return ErrClosed
	}
	l.closeLocked()
	release, err := store.Claim(l.path)
	if err != nil {
		return fmt.Errorf("the store cannot be replaced: %w", err)
	}
	return errors.Join(f(), release())
}
