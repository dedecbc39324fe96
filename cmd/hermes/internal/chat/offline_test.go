package chat

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/localapi"
)

type servesNames []string

// Profile implements localapi.Backend.
func (s servesNames) Profile(string) (localapi.Profile, bool) { return nil, false }

// Profiles implements localapi.Backend.
func (s servesNames) Profiles() []string { return s }

// A gateway outlives its control plane; a conversation with it does not need one.
func TestLocateOffline(t *testing.T) {
	dir, err := os.MkdirTemp("", "g") // short enough for sockets
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	for name, profiles := range map[string]servesNames{"default": {"alice", "bob"}, "second": {"carol"}} {
		home := filepath.Join(dir, "default", name)
		must(t, os.MkdirAll(home, 0o700))
		server, err := localapi.Serve(localapi.Config{Home: home, TempDir: dir, Backend: profiles, Log: logr.Discard()})
		must(t, err)
		t.Cleanup(func() { must(t, server.Close(context.Background())) })
	}
	must(t, os.MkdirAll(filepath.Join(dir, "default", "stopped"), 0o700))
	for name, tc := range map[string]struct {
		namespace, profile, gateway string
		fails                       string
	}{
		"one that is served":          {"default", "bob", "default", ""},
		"at another gateway":          {"default", "carol", "second", ""},
		"several and none named":      {"default", "", "", "name it with -p: alice, bob, carol"},
		"one that is not served":      {"default", "dave", "", `no profile "dave" at the gateways that run in namespace default: alice, bob, carol`},
		"nothing runs in a namespace": {"other", "alice", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := LocateOffline(t.Context(), dir, dir, tc.namespace, tc.profile)
			if got.Gateway != tc.gateway || ok != (tc.gateway != "") {
				t.Errorf("%+v, %t, want gateway %q", got, ok, tc.gateway)
			}
			if ok && got.Socket != filepath.Join(dir, tc.namespace, tc.gateway, "gateway-api.sock") {
				t.Errorf("socket %s", got.Socket)
			}
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
		})
	}
}
