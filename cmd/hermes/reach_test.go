package main

import (
	"fmt"
	"strings"
	"testing"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// TestHomeMeansTheSame: every verb about a profile takes its home, or a root that holds it, served or not, and refuses the
// same mistakes with the same code.
func TestHomeMeansTheSame(t *testing.T) {
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%t", served), func(t *testing.T) {
			r := newSessionRoot(t)
			if served {
				r.serve()
			}
			empty := t.TempDir()
			for verb, args := range map[string][]string{
				"sessions": {"sessions", "list"}, "profile": {"profile", "backup"}, "tools": {"tools", "list"}, "chat": {"chat", "-q", "hello"},
			} {
				for _, c := range []struct {
					place string
					code  int
					says  string
				}{
					{"--home " + r.paths.Home, 0, ""},
					{"--home " + r.root + " -p alice", 0, ""},
					{"--home " + r.paths.Home + " -p bob", exit.Usage, "is the home of profile alice and -p says bob"},
					{"--home " + r.root, exit.Usage, "which profile? name it with -p: alice, bob"},
					{"--home " + r.root + " -p carol", exit.Failed, `there is no profile "carol" below`},
					{"--home " + empty, exit.Usage, "no profile's home"},
					{"--home " + empty + "/none", exit.Failed, "is not a directory on this machine"},
					{"--home " + empty + " --socket /s", exit.Usage, "use one of them"},
				} {
					if verb == "chat" && c.code == 0 && !served { // it never opens a store beside the gateway's
						c.code, c.says = exit.Failed, "does not answer"
					}
					code, _, errs := hermesHere(t, append(args, strings.Fields(c.place)...)...)
					if code != c.code || !strings.Contains(errs, c.says) {
						t.Errorf("%s %s: code %d, want %d: %s", verb, c.place, code, c.code, errs)
					}
				}
			}
		})
	}
}
