package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGatewayByHand: what the verbs say on a host where nothing runs, and that nothing is made for a named profile by
// accident (T-066, G-273, G-403).
func TestGatewayByHand(t *testing.T) {
	home := t.TempDir()
	coder := filepath.Join(home, ".hermes", "profiles", "coder")
	for path, text := range map[string]string{filepath.Join(home, ".hermes", "config.yaml"): "{}\n", filepath.Join(coder, "config.yaml"): "{}\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}
	for name, c := range map[string]struct {
		args  []string
		code  int
		words []string
	}{
		"status":                         {[]string{"gateway", "status"}, 1, []string{"default: not running", "hermes gateway start"}},
		"status -p":                      {[]string{"gateway", "status", "-p", "coder"}, 1, []string{"hermes gateway start -p coder"}},
		"status -o json":                 {[]string{"gateway", "status", "-o", "json"}, 1, []string{`"state": "stopped"`}},
		"T-066 install of a named one":   {[]string{"gateway", "install", "-p", "coder"}, 78, []string{"--force"}},
		"G-273 start of a named one":     {[]string{"gateway", "start", "-p", "coder"}, 78, []string{"--force"}},
		"G-273 run of a named one":       {[]string{"gateway", "run", "-p", "coder"}, 78, []string{"--force"}},
		"stop when nothing runs":         {[]string{"gateway", "stop"}, 0, []string{"does not run"}},
		"stop --all when nothing runs":   {[]string{"gateway", "stop", "--all"}, 0, []string{"no gateway runs"}},
		"G-286 dry run changes nothing":  {[]string{"gateway", "migrate", "--multiplex", "--dry-run"}, 0, []string{"gateway.multiplex_profiles: true"}},
		"migrate to what":                {[]string{"gateway", "migrate"}, 2, []string{"--multiplex"}},
		"migrate asks":                   {[]string{"gateway", "migrate", "--multiplex"}, 2, []string{"--yes"}},
		"a name and a home":              {[]string{"gateway", "restart", "x", "-p", "coder"}, 2, []string{"not both"}},
		"a declared one is not replaced": {[]string{"gateway", "run", "--name", "x", "--replace"}, 2, []string{"without --name"}},
		"a bad profile name":             {[]string{"gateway", "status", "-p", "../x"}, 2, []string{"profile name"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := runHere(t, env, c.args...)
			if err := contains(r, c.words...); err != nil || r.code != c.code {
				t.Errorf("exit %d, want %d: %v\n%s", r.code, c.code, err, r)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(coder, "gateway.pid")); err == nil {
		t.Error("something was started")
	}
}
