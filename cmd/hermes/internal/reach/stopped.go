package reach

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
)

// askPatience bounds the question which profiles a gateway serves; one that answers does so in milliseconds.
const askPatience = 2 * time.Second

// resident is a profile below the default homes of a data directory.
type resident struct {
	Target
	// served says that a gateway answers for it; else it was found on disk.
	served bool
}

// withoutControlPlane finds a profile below the data directory while its control plane is stopped, which is the cause:
// gateways go on without it, and homes stay.
func (f Finder) withoutControlPlane(ctx context.Context, data datadir.Dir, wanted string, need Need, cause error) (Target, error) {
	namespace := cmp.Or(f.Namespace, "default")
	residents, err := f.residents(ctx, filepath.Join(data.Gateways(), namespace))
	if err != nil {
		return Target{}, err
	}
	found, ok, err := chooseResident(residents, namespace, wanted, need)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("%w (%w)", cause, err)
	case !ok && need.Ready:
		return Target{}, cause
	case !ok:
		return Target{}, fmt.Errorf("%w, or name the profile's home with --home", cause)
	}
	if found.served {
		f.Note("the control plane of %s does not answer; gateway %s does", data, found.Gateway)
	}
	return found.Target, nil
}

// residents are the profiles below the default homes of a namespace, DIR/GATEWAY.
func (f Finder) residents(ctx context.Context, dir string) ([]resident, error) {
	roots, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // no gateway has ever run there
	}
	var out []resident
	for _, entry := range roots {
		root, gateway := filepath.Join(dir, entry.Name()), entry.Name()
		for _, name := range servedAt(ctx, localapi.SocketPath(root, f.TempDir), gateway) {
			if paths, err := home.ForProfile(root, name); err == nil {
				out = append(out, resident{f.below(paths, gateway), true})
			}
		}
		onDisk, err := home.List(root)
		if err != nil {
			return nil, err
		}
		for _, paths := range onDisk {
			out = append(out, resident{f.below(paths, gateway), false})
		}
	}
	return out, nil
}

// chooseResident decides which resident is meant; ok is false when there is none to choose from. One that is served is
// preferred to a home on disk that has its name.
func chooseResident(all []resident, namespace, wanted string, need Need) (_ resident, ok bool, _ error) {
	found := map[string]resident{}
	var names []string
	for _, r := range all {
		known, seen := found[r.Profile]
		switch {
		case need.Ready && !r.served, known.served:
			continue
		case !seen:
			names = append(names, r.Profile)
		case !r.served:
			continue
		}
		found[r.Profile] = r
	}
	if len(names) == 0 {
		return resident{}, false, nil
	}
	where := "in the homes of namespace "
	if need.Ready {
		where = "at the gateways that run in namespace "
	}
	name, err := Pick(names, wanted, where+namespace)
	return found[name], err == nil, err
}

// servedAt is the profiles that the gateway at a socket serves, none when nothing answers there.
func servedAt(ctx context.Context, socket, gateway string) []string {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	client := localapi.NewClient(socket, gateway)
	defer client.Close()
	names, err := client.Models(ctx)
	if err != nil {
		return nil
	}
	return names
}
