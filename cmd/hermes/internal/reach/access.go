package reach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// closePatience bounds the closing of a profile that was opened here.
const closePatience = 10 * time.Second

// Access is an open profile.
type Access struct {
	*localapi.Client
	Target
	// Direct says that the profile is open in this process, because no gateway serves it.
	Direct bool

	opened *profile.Runtime
}

// Open finds a profile and opens it.
func (f Finder) Open(ctx context.Context, flags Flags, need Need) (*Access, error) {
	target, err := f.Find(ctx, flags, need)
	if err != nil {
		return nil, err
	}
	return f.Reach(ctx, target, need)
}

// Reach opens a target: through the gateway that serves the profile, else here. Nothing is read before it is asked for,
// and a store is made only by what fills it.
func (f Finder) Reach(ctx context.Context, t Target, need Need) (*Access, error) {
	sockets := []string{t.Socket}
	if t.Root != "" {
		sockets = append(sockets, localapi.SocketPath(t.Root, f.TempDir)) // a gateway may have moved since it said so
	}
	for _, socket := range slices.Compact(sockets) {
		if socket != "" && slices.Contains(servedAt(ctx, socket, t.Gateway), t.Profile) {
			t.Socket = socket
			return &Access{Client: localapi.NewClient(socket, t.Gateway), Target: t}, nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := f.checkHere(t, need); err != nil {
		return nil, err
	}
	r := profile.Open(profile.Options{Paths: t.Paths(), Clock: f.Clock, Log: f.Log})
	handler := localapi.NewHandler(localapi.HandlerConfig{Backend: only{r}, Log: f.Log})
	return &Access{Client: localapi.NewInProcessClient(handler), Target: t, Direct: true, opened: r}, nil
}

// checkHere says why a profile that nobody serves cannot be opened in this process.
func (f Finder) checkHere(t Target, need Need) error {
	switch {
	case t.Home == "" && t.Gateway == "":
		return fmt.Errorf("no gateway serves profile %s at %s", t.Profile, t.Socket)
	case t.Home == "" || need.Ready:
		return fmt.Errorf("gateway %s of profile %s does not answer: see hermes status gateway/%s", t.Gateway, t.Profile, t.Gateway)
	}
	if info, err := os.Stat(t.Home); err != nil || !info.IsDir() {
		return fmt.Errorf("the home of profile %s is not written yet or not on this machine: %s is not a directory", t.Profile, t.Home)
	}
	if !need.Store || backup.Pending(t.Home) {
		return nil
	}
	switch _, err := os.Lstat(t.Paths().Store()); { // lstat opens nothing (S-133)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("profile %s has no sessions yet: nothing is stored at %s", t.Profile, t.Paths().Store())
	case err != nil:
		return fmt.Errorf("sessions of profile %s: %w", t.Profile, err)
	}
	return nil
}

// Close ends the access; a store that was opened is closed, which writes its log back.
func (a *Access) Close() error {
	a.Client.Close()
	if a.opened == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	return a.opened.Close(ctx)
}

// Coded gives an error of a profile its exit code: what somebody else holds may be free later.
func Coded(err error) error {
	var e *localapi.Error
	switch {
	case errors.Is(err, store.ErrStoreBusy),
		errors.As(err, &e) && slices.Contains([]string{"busy", "store_busy", "stopping", localapi.CodeSessionBusy}, e.Code):
		return exit.Busyf("%w", err)
	}
	return err
}

// only is a backend of one profile.
type only struct{ r *profile.Runtime }

// Profile implements localapi.Backend.
func (o only) Profile(name string) (localapi.Profile, bool) { return o.r, name == o.r.Name() }

// Profiles implements localapi.Backend.
func (o only) Profiles() []string { return []string{o.r.Name()} }
