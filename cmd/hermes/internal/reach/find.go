package reach

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
)

// Target is where a profile is.
type Target struct {
	// Profile and Gateway are names of objects; Gateway is "" when a directory or a socket was named instead.
	Profile, Gateway string
	// Root is the home root and Home the profile's directory, on the gateway's machine; "" when unknown.
	Root, Home string
	// Socket is where the gateway answers or would; "" when it does not run.
	Socket string
}

// Paths are the files of the target's home.
func (t Target) Paths() home.Paths {
	return home.Paths{Root: t.Root, Name: t.Profile, Home: t.Home}
}

// Need is what a verb needs of a profile. The zero value is a home that was written.
type Need struct {
	// Ready: a gateway serves the profile and it takes turns. The target has a socket, and is not opened here.
	Ready bool
	// Store: sessions are stored. A store is not made only to be looked into.
	Store bool
	// Empty: a directory that is no profile's home yet will do, when --home names it.
	Empty bool
}

// Finder finds and opens profiles for one command line.
type Finder struct {
	// API gives the control plane and the namespace that the command line means. Its error is, or wraps, a
	// *datadir.NotRunningError while that of the data directory is stopped.
	API func() (*kube.Client, rest.Interface, string, error)
	// Namespace is the one that was named; "" means default where there is no control plane to ask.
	Namespace string
	// TempDir is where gateways put sockets whose path would be too long.
	TempDir string
	// Note tells the person something beside the answer.
	Note  func(format string, args ...any)
	Clock profile.Clock
	Log   logr.Logger
}

// Find finds the profile that the flags mean.
func (f Finder) Find(ctx context.Context, flags Flags, need Need) (Target, error) {
	if err := flags.check(); err != nil {
		return Target{}, err
	}
	switch {
	case flags.Home != "":
		return f.atHome(flags.Home, flags.Profile, need)
	case flags.Socket != "":
		return atSocket(ctx, flags.Socket, flags.Profile)
	}
	target, err := f.declared(ctx, flags.Profile, need)
	var stopped *datadir.NotRunningError
	if !errors.As(err, &stopped) {
		return target, err
	}
	return f.withoutControlPlane(ctx, stopped.Data, flags.Profile, need, err)
}

// atSocket is the choice of a profile among those that a gateway serves.
func atSocket(ctx context.Context, socket, wanted string) (Target, error) {
	client := localapi.NewClient(socket, "")
	defer client.Close()
	names, err := client.Models(ctx)
	if err != nil {
		return Target{}, err
	}
	name, err := Pick(names, wanted, "at "+socket)
	return Target{Profile: name, Socket: socket}, err
}

// below is the target of a profile below a home root. The gateway of a root answers at one place.
func (f Finder) below(paths home.Paths, gateway string) Target {
	return Target{
		Profile: paths.Name, Gateway: gateway, Root: filepath.Clean(paths.Root), Home: paths.Home,
		Socket: localapi.SocketPath(paths.Root, f.TempDir),
	}
}
