package reach

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/gofrs/flock"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/profilehome"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine is a data directory whose control plane is stopped.
type machine struct {
	*testing.T
	data  datadir.Dir
	notes []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "r") // short enough for sockets
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return &machine{T: t, data: datadir.Dir(dir)}
}

func (m *machine) finder() Finder {
	return Finder{
		API: func() (*kube.Client, rest.Interface, string, error) {
			return nil, nil, "", &datadir.NotRunningError{Data: m.data}
		},
		TempDir: string(m.data), Clock: clock.RealClock{}, Log: logr.Discard(),
		Note: func(format string, args ...any) { m.notes = append(m.notes, fmt.Sprintf(format, args...)) },
	}
}

// write makes the home of a profile below a gateway's default root, with a session when it is to have a store.
func (m *machine) write(gateway, name string, stored bool) home.Paths {
	m.Helper()
	root := filepath.Join(m.data.Gateways(), "default", gateway)
	must(m.T, os.MkdirAll(root, 0o700))
	paths := profilehome.Write(m.T, root, name, profilehome.Demo())
	if stored {
		addSession(m.T, paths.Store(), "s1")
	}
	return paths
}

func addSession(t *testing.T, path, id string) {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	must(t, err)
	_, _, err = s.EnsureSession(t.Context(), store.Session{ID: id, Source: "cli", Model: "m"})
	must(t, err)
	_, err = s.Append(t.Context(), id, store.Message{Role: "user", Content: "hello"})
	must(t, err)
	must(t, s.Close())
}

// serve runs a gateway's API for one profile, with its store open.
func (m *machine) serve(paths home.Paths) {
	m.Helper()
	r := profile.Open(profile.Options{Paths: paths, Clock: clock.RealClock{}, Log: logr.Discard()})
	server, err := localapi.Serve(localapi.Config{Home: paths.Root, TempDir: string(m.data), Backend: only{r}, Log: logr.Discard()})
	must(m.T, err)
	_, err = r.Sessions(m.Context(), store.ListOptions{})
	must(m.T, err)
	m.Cleanup(func() {
		must(m.T, server.Close(context.Background()))
		must(m.T, r.Close(context.Background()))
	})
}

func (m *machine) open(flags Flags, need Need) *Access {
	m.Helper()
	a, err := m.finder().Open(m.Context(), flags, need)
	must(m.T, err)
	m.Cleanup(func() { must(m.T, a.Close()) })
	return a
}

// TestStoppedControlPlane: gateways go on without it, and homes stay.
func TestStoppedControlPlane(t *testing.T) {
	m := newMachine(t)
	m.serve(m.write("default", "alice", true))
	bob := m.write("second", "bob", true)
	a := m.open(Flags{Profile: "alice"}, Need{Store: true})
	if a.Direct || a.Gateway != "default" || len(m.notes) != 1 || !strings.Contains(m.notes[0], "gateway default does") {
		t.Errorf("served: %+v, notes %q", a, m.notes)
	}
	if list, err := a.Sessions(t.Context(), a.Profile, localapi.SessionFilter{}); err != nil || len(list) != 1 {
		t.Errorf("served: %v, %v", list, err)
	}
	a = m.open(Flags{Profile: "bob"}, Need{Store: true})
	if !a.Direct || a.Paths() != bob || len(m.notes) != 1 {
		t.Errorf("on disk: %+v, notes %q", a, m.notes)
	}
	if list, err := a.Sessions(t.Context(), a.Profile, localapi.SessionFilter{}); err != nil || len(list) != 1 {
		t.Errorf("on disk: %v, %v", list, err)
	}
	for name, c := range map[string]struct {
		namespace, profile string
		need               Need
		code               int
		says               string
	}{
		"talk to one that is served": {"default", "alice", Need{Ready: true}, 0, ""},
		"talk to one that is not":    {"default", "bob", Need{Ready: true}, 1, `no profile "bob" at the gateways that run in namespace default: alice`},
		"an unknown one":             {"default", "carol", Need{}, 1, `no profile "carol" in the homes of namespace default: alice, bob`},
		"several":                    {"", "", Need{}, 2, "which profile?"},
		"nothing in a namespace":     {"other", "alice", Need{}, 1, "no control plane is running"},
		"and what would help":        {"other", "alice", Need{}, 1, "or name the profile's home with --home"},
	} {
		f := m.finder()
		f.Namespace = c.namespace
		if got, err := f.Find(t.Context(), Flags{Profile: c.profile}, c.need); !says(err, c.code, c.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestHome: --home takes a home root and a profile's home, and both go through the gateway that serves the root.
func TestHome(t *testing.T) {
	m := newMachine(t)
	alice := m.write("default", "alice", true)
	m.write("default", "bob", false)
	check := func(direct bool) {
		t.Helper()
		for _, flags := range []Flags{{Home: alice.Root, Profile: "alice"}, {Home: alice.Home}, {Home: alice.Home, Profile: "alice"}} {
			a, err := m.finder().Open(t.Context(), flags, Need{Store: true})
			if err != nil || a.Direct != direct || a.Paths() != alice {
				t.Errorf("%+v: %+v, %v", flags, a, err)
				continue
			}
			must(t, a.Close())
		}
	}
	check(true)
	m.serve(alice)
	check(false)
	moved := Target{Profile: "alice", Gateway: "default", Root: alice.Root, Home: alice.Home, Socket: filepath.Join(alice.Root, "earlier.sock")}
	if a, err := m.finder().Reach(t.Context(), moved, Need{}); err != nil || a.Direct {
		t.Errorf("a gateway that answers elsewhere than it said: %+v, %v", a, err)
	} else {
		must(t, a.Close())
	}
	bare := filepath.Join(t.TempDir(), "profiles", "erin")
	must(t, os.MkdirAll(bare, 0o700))
	addSession(t, filepath.Join(bare, "state.db"), "s")
	if a := m.open(Flags{Home: bare}, Need{Store: true}); a.Profile != "erin" {
		t.Errorf("a store alone: %+v", a)
	}
	for name, c := range map[string]struct {
		flags Flags
		need  Need
		code  int
		says  string
	}{
		"no such directory": {Flags{Home: alice.Root + "/none"}, Need{}, 1, "is not a directory on this machine"},
		"no home":           {Flags{Home: t.TempDir()}, Need{}, 2, "no profile's home"},
		"no store":          {Flags{Home: alice.Root, Profile: "bob"}, Need{Store: true}, 1, "profile bob has no sessions yet"},
		"and a socket":      {Flags{Home: alice.Root, Socket: "/s"}, Need{}, 2, "use one of them"},
	} {
		if a, err := m.finder().Open(t.Context(), c.flags, c.need); !says(err, c.code, c.says) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	socket := localapi.SocketPath(alice.Root, string(m.data))
	if a := m.open(Flags{Socket: socket}, Need{}); a.Direct || a.Profile != "alice" {
		t.Errorf("%+v", a)
	}
	for profile, want := range map[string]string{"bob": `no profile "bob" at ` + socket} {
		if _, err := m.finder().Find(t.Context(), Flags{Socket: socket, Profile: profile}, Need{}); !says(err, 1, want) {
			t.Error(err)
		}
	}
	if _, err := m.finder().Find(t.Context(), Flags{Socket: socket + ".none"}, Need{}); !says(err, 1, "does not answer") {
		t.Error(err)
	}
}

// TestBusy: a store that another program owns is nobody else's; what needs no store works.
func TestBusy(t *testing.T) {
	m := newMachine(t)
	alice := m.write("default", "alice", true)
	a := m.open(Flags{Home: alice.Home}, Need{})
	made, err := a.Backup(t.Context(), a.Profile, localapi.BackupRequest{})
	must(t, err)
	b := m.open(Flags{Home: alice.Home}, Need{Store: true}) // beside a, whose store is still open
	_, err = b.Sessions(t.Context(), b.Profile, localapi.SessionFilter{})
	refused := map[string]error{"sessions": err}
	_, refused["backup"] = b.Backup(t.Context(), b.Profile, localapi.BackupRequest{})
	_, refused["restore"] = b.Restore(t.Context(), b.Profile, localapi.RestoreRequest{Path: made.Path})
	for verb, err := range refused {
		if err := Coded(err); exit.Code(err) != exit.TryAgain || !strings.Contains(err.Error(), "state.db is ") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if list, err := b.Backups(t.Context(), b.Profile); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestEmptyHome: what fills a home may make its store, and nothing else does.
func TestEmptyHome(t *testing.T) {
	m := newMachine(t)
	source := m.write("default", "alice", true)
	made, err := m.open(Flags{Home: source.Home}, Need{}).Backup(t.Context(), "alice", localapi.BackupRequest{})
	must(t, err)
	bob := m.write("default", "bob", false)
	b := m.open(Flags{Home: bob.Home}, Need{})
	if _, err := b.Backups(t.Context(), "bob"); err != nil {
		t.Error(err)
	}
	without, err := b.Backup(t.Context(), "bob", localapi.BackupRequest{})
	if err != nil || without.Store != nil {
		t.Errorf("%+v, %v", without, err)
	}
	if _, err := b.Restore(t.Context(), "bob", localapi.RestoreRequest{Path: without.Path}); err != nil {
		t.Error(err)
	}
	if _, err := b.Restore(t.Context(), "bob", localapi.RestoreRequest{Path: made.Path, AnyProfile: true, DryRun: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(bob.Store()); err == nil {
		t.Fatal("looking made a store")
	}
	_, err = b.Restore(t.Context(), "bob", localapi.RestoreRequest{Path: made.Path, AnyProfile: true})
	must(t, err)

	carol := filepath.Join(source.Root, "profiles", "carol")
	must(t, os.Mkdir(carol, 0o700))
	foreign := filepath.Join(t.TempDir(), "state.db")
	addSession(t, foreign, "s2")
	c := m.open(Flags{Home: carol}, Need{Empty: true})
	report, err := c.Import(t.Context(), c.Profile, localapi.ImportRequest{Path: foreign})
	if err != nil || report.Sessions != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	must(t, c.Close())
	for _, store := range []string{bob.Store(), filepath.Join(carol, "state.db")} {
		if _, err := os.Lstat(store); err != nil {
			t.Error(err)
		}
	}
}

// TestCutOffRestore: a store that waits for a restore to be finished is a store.
func TestCutOffRestore(t *testing.T) {
	m := newMachine(t)
	bob := m.write("default", "bob", false)
	must(t, os.WriteFile(filepath.Join(bob.Home, backup.JournalName), []byte("{}"), 0o600))
	f := m.finder()
	if err := f.checkHere(f.below(bob, ""), Need{Store: true}); err != nil {
		t.Error(err)
	}
}

// TestBackupBeingMade: it is tried again later, through a gateway as well as without one.
func TestBackupBeingMade(t *testing.T) {
	m := newMachine(t)
	alice := m.write("default", "alice", true)
	dir := t.TempDir()
	held := flock.New(filepath.Join(dir, ".lock-alice"))
	if ok, err := held.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { must(t, held.Unlock()) }()
	for _, served := range []bool{false, true} {
		if served {
			m.serve(alice)
		}
		a := m.open(Flags{Home: alice.Home}, Need{})
		if a.Direct == served {
			t.Errorf("direct %v, served %v", a.Direct, served)
		}
		_, err := a.Backup(t.Context(), a.Profile, localapi.BackupRequest{Directory: dir})
		if err := Coded(err); exit.Code(err) != exit.TryAgain || !strings.Contains(err.Error(), "being made already: wait for it") {
			t.Errorf("served %v: code %d, %v", served, exit.Code(err), err)
		}
		must(t, a.Close())
	}
}
