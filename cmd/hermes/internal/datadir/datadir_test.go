package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

func env(pairs map[string]string) Getenv { return func(k string) string { return pairs[k] } }

func TestResolve(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		flag string
		env  map[string]string
		want Dir
	}{
		"flag wins":                   {"/a", map[string]string{"HERMES_DATA": "/b", "HOME": "/h"}, "/a"},
		"a relative flag is resolved": {"x", nil, Dir(filepath.Join(wd, "x"))},
		"HERMES_DATA":                 {"", map[string]string{"HERMES_DATA": "/b", "XDG_STATE_HOME": "/s", "HOME": "/h"}, "/b"},
		"XDG_STATE_HOME":              {"", map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/hermes"},
		"a relative XDG is ignored":   {"", map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/hermes"},
		"home":                        {"", map[string]string{"HOME": "/h"}, "/h/.local/state/hermes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(tc.flag, env(tc.env))
			if err != nil || got != tc.want {
				t.Errorf("Resolve = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, err := Resolve("", env(nil)); err == nil {
		t.Error("Resolve without any variable: no error")
	}
}

func TestChoose(t *testing.T) {
	const local = "/d/controlplane/kubeconfig"
	for name, tc := range map[string]struct {
		in   Found
		want Source
		stop bool
		code int
	}{
		"--kubeconfig wins":                {in: Found{Flag: "/k", LocalExists: true, LocalRuns: true, Kubeconfig: "/e"}, want: Source{FromFlag, "/k", "/d"}},
		"the running local one":            {in: Found{LocalExists: true, LocalRuns: true, Kubeconfig: "/e"}, want: Source{Local, local, "/d"}},
		"none here: the cluster":           {in: Found{Kubeconfig: "/e"}, want: Source{FromEnvironment, "/e", "/d"}},
		"a stopped one is not passed over": {in: Found{LocalExists: true, Kubeconfig: "/e"}, stop: true, code: exit.Failed},
		"--data is not passed over":        {in: Found{DataNamed: true, Kubeconfig: "/e"}, stop: true, code: exit.Usage},
		"still starting":                   {in: Found{LocalRuns: true, Kubeconfig: "/e"}, stop: true, code: exit.TryAgain},
		"nothing at all":                   {in: Found{}, stop: true, code: exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Data = "/d"
			got, err := Choose(tc.in)
			var stopped *NotRunningError
			if errors.As(err, &stopped) != tc.stop || exit.Code(err) != tc.code || got != tc.want {
				t.Errorf("Choose = %+v, %v", got, err)
			}
		})
	}
}

func TestCreateIsPrivate(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "data"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{string(d), d.LogDir()} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %o, want 700", dir, info.Mode().Perm())
		}
	}
}

// TestCreateClosesToOthers: a directory that was made with another mode is no way in.
func TestCreateClosesToOthers(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "d"))
	for _, dir := range []string{string(d), d.LogDir()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{string(d), d.LogDir()} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
}
