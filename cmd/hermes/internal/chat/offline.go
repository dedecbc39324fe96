package chat

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

// offlinePatience bounds the question to one gateway; one that answers does so in milliseconds.
const offlinePatience = 2 * time.Second

// LocateOffline finds a profile without a control plane, among the gateways that answer below a directory of
// default homes, DIR/NAMESPACE/NAME. ok is false when none does; an error says that some do and which profile
// they have. tempDir is where gateways put sockets whose path would be too long.
func LocateOffline(ctx context.Context, dir, tempDir, namespace, profile string) (target Target, ok bool, err error) {
	homes, err := os.ReadDir(filepath.Join(dir, namespace))
	if err != nil {
		return Target{}, false, nil // no gateway has ever run there
	}
	served := map[string]Target{}
	var names []string
	for _, home := range homes {
		socket := localapi.SocketPath(filepath.Join(dir, namespace, home.Name()), tempDir)
		for _, name := range modelsAt(ctx, socket, home.Name()) {
			if _, seen := served[name]; !seen {
				served[name] = Target{Profile: name, Gateway: home.Name(), Socket: socket}
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return Target{}, false, nil
	}
	name, err := pick(names, profile, "at the gateways that run in namespace "+namespace)
	return served[name], err == nil, err
}

// modelsAt is the profiles that the gateway at a socket serves, none when nothing answers there.
func modelsAt(ctx context.Context, socket, gateway string) []string {
	ctx, cancel := context.WithTimeout(ctx, offlinePatience)
	defer cancel()
	client := localapi.NewClient(socket, gateway)
	defer client.Close()
	names, err := client.Models(ctx)
	if err != nil {
		return nil
	}
	return names
}
