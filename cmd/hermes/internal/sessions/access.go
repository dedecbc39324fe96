package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
)

const (
	// askPatience bounds the question whether a gateway answers; one that does answers in milliseconds.
	askPatience = 2 * time.Second
	// closePatience bounds the closing of a store that was opened here.
	closePatience = 10 * time.Second
)

// Access is the way to the stored sessions of one profile.
type Access struct {
	*localapi.Client
	Profile string
	// Direct says that the store is open in this process, because no gateway serves the profile.
	Direct bool

	opened *profile.Runtime
}

// Open reaches a target: through the gateway that serves the profile, else by opening its store under the lock. With
// neither it is one error. tempDir is where gateways put sockets whose path would be too long.
func Open(ctx context.Context, t Target, tempDir string, clk profile.Clock, log logr.Logger) (*Access, error) {
	sockets := []string{t.Socket}
	if t.Root != "" {
		sockets = append(sockets, localapi.SocketPath(t.Root, tempDir))
	}
	for _, socket := range slices.Compact(sockets) {
		if socket == "" {
			continue
		}
		client := localapi.NewClient(socket, t.Gateway)
		if serves(ctx, client, t.Profile) {
			return &Access{Client: client, Profile: t.Profile}, nil
		}
		client.Close()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return openHere(t, clk, log)
}

func serves(ctx context.Context, client *localapi.Client, profile string) bool {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	names, err := client.Models(ctx)
	return err == nil && slices.Contains(names, profile)
}

func openHere(t Target, clk profile.Clock, log logr.Logger) (*Access, error) {
	if t.Root == "" {
		return nil, fmt.Errorf("gateway %s of profile %s does not answer: see hermes status gateway/%s", t.Gateway, t.Profile, t.Gateway)
	}
	paths, err := home.ForProfile(t.Root, t.Profile)
	if err != nil {
		return nil, err
	}
	switch _, err := os.Stat(paths.Store()); { // a store is not made only to be looked into
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("profile %s has no sessions yet: nothing is stored at %s", t.Profile, paths.Store())
	case err != nil:
		return nil, fmt.Errorf("sessions of profile %s: %w", t.Profile, err)
	}
	r := profile.Open(profile.Options{Paths: paths, Clock: clk, Log: log})
	client := localapi.NewInProcessClient(localapi.NewHandler(localapi.HandlerConfig{Backend: only{r}, Log: log}))
	return &Access{Client: client, Profile: t.Profile, Direct: true, opened: r}, nil
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

// only is a backend of one profile.
type only struct{ r *profile.Runtime }

// Profile implements localapi.Backend.
func (o only) Profile(name string) (localapi.Profile, bool) { return o.r, name == o.r.Name() }

// Profiles implements localapi.Backend.
func (o only) Profiles() []string { return []string{o.r.Name()} }
