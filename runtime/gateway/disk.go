package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// rescanEvery is how long an edit of the set of profiles on disk may go unseen. Implements G-330.
const rescanEvery = 30 * time.Second

// unserveWithin bounds the teardown of one profile.
const unserveWithin = 10 * time.Second

// disk keeps the open profiles in step with the homes on disk. One reconcile runs at a time.
type disk struct {
	g         *gateway
	launch    home.Paths
	multiplex bool

	mu sync.Mutex
	// signatures are what the config and secrets of an open profile looked like before it was opened. Implements G-331.
	signatures map[string]string
	warned     map[string]bool
}

// run reconciles every so often until ctx ends.
func (d *disk) run(ctx context.Context) {
	every := d.g.o.ByHand.Rescan
	if every == 0 {
		every = rescanEvery
	}
	ticker := d.g.o.Clock.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			d.reconcile(ctx)
		}
	}
}

// change is what one reconcile did.
type change struct {
	added, removed []string
	err            error
}

// reconcile opens what is new, closes what is gone, and reopens only what was edited. Profiles that did not change are
// not touched, and one that fails is an entry of the error. Implements G-330, G-331 and G-333.
func (d *disk) reconcile(ctx context.Context) change {
	d.mu.Lock()
	defer d.mu.Unlock()
	var c change
	want, err := d.wanted()
	if err != nil {
		c.err = err // fail closed: what is served stays served
		return c
	}
	open := d.g.profiles.Served()
	for _, name := range open {
		if !slices.ContainsFunc(want, func(p home.Paths) bool { return p.Name == name }) {
			c.err = errors.Join(c.err, d.unserve(ctx, name))
			c.removed = append(c.removed, name)
		}
	}
	for _, p := range want {
		before := signature(p)
		isOpen := slices.Contains(open, p.Name)
		if isOpen && d.signatures[p.Name] == before {
			continue
		}
		if err := (publisher{d.g.profiles, d.g}).Open(ctx, p, nil); err != nil {
			c.err = errors.Join(c.err, fmt.Errorf("profile %s: %w", p.Name, err))
			continue
		}
		d.signatures[p.Name] = before
		if !isOpen {
			c.added = append(c.added, p.Name)
		}
	}
	if c.err != nil {
		d.g.o.Log.Error(c.err, "serve the profiles on disk")
	}
	return c
}

func (d *disk) wanted() ([]home.Paths, error) {
	var roster []Installed
	if d.multiplex {
		var err error
		if roster, err = Roster(d.launch.Root); err != nil {
			return nil, err
		}
	}
	want, warnings := ToServe(d.launch, roster, d.multiplex)
	for _, w := range warnings {
		if d.warned == nil {
			d.warned = map[string]bool{}
		}
		if !d.warned[w] { // once, not every 30 s
			d.warned[w] = true
			d.g.warn(w)
		}
	}
	return want, nil
}

// unserve takes one profile down inside its own runtime and drops what this process records of it. Implements G-333.
func (d *disk) unserve(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, unserveWithin)
	defer cancel()
	delete(d.signatures, name)
	err := (publisher{d.g.profiles, d.g}).Close(ctx, name)
	return errors.Join(err, d.g.state.DropProfile(name))
}

// signature tells two states of a profile's configuration and secrets apart.
func signature(p home.Paths) string {
	out := ""
	for _, path := range []string{p.Config(), p.Env(), filepath.Join(p.Home, "auth.json")} {
		if fi, err := os.Stat(path); err == nil {
			out += fmt.Sprintf("%d %d;", fi.Size(), fi.ModTime().UnixNano())
		} else {
			out += "-;"
		}
	}
	return out
}

// Serve implements host.ProfileHandler: the marker is gone, so a rescan serves it. Implements the host's part of G-284.
func (d *disk) Serve(ctx context.Context, name string) error {
	d.reconcile(ctx)
	if _, ok := d.g.profiles.lookup(name); !ok {
		return fmt.Errorf("profile %s is not served: it has no home here, is parked, or keeps a gateway of its own", name)
	}
	return nil
}

// Unserve closes a profile at once. Without its marker the next rescan serves it again, which is what a restart of one
// profile is. Implements the host's part of G-284 and G-334.
func (d *disk) Unserve(ctx context.Context, name string) error {
	if name == d.launch.Name {
		return fmt.Errorf("profile %s launched this gateway: stop the gateway instead", name)
	}
	if _, ok := d.g.profiles.lookup(name); !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unserve(ctx, name)
}

// rescan answers rescan-profiles. Implements G-246.
func (d *disk) rescan(ctx context.Context) host.Rescan {
	c := d.reconcile(ctx)
	r := host.Rescan{
		Added: c.added, Removed: c.removed, Rescanned: c.err == nil, Pending: !d.g.started.Load(),
		ServedProfiles: host.ServedProfiles(d.g.profiles.Served()),
	}
	if c.err != nil {
		r.Reason = c.err.Error()
	}
	if !d.multiplex {
		no := false
		r.Multiplex = &no
	}
	return r
}
