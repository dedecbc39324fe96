package tools

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// defaultPath finds the usual places on Linux, NixOS included, and macOS.
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/wrappers/bin:/run/current-system/sw/bin:/nix/var/nix/profiles/default/bin:/opt/homebrew/bin"
	runMarker   = "HERMES_RUN_ID"
	callMarker  = "HERMES_CALL_ID"
)

// buildEnviron makes the complete environment of a command. Nothing of this
// process's environment is in it. extra overrides the defaults, the last
// occurrence of a name wins, and the two markers cannot be overridden: the
// process tree is found by them.
//
// Implements G-346.
func buildEnviron(c Config, commandHome, callID string) []string {
	pairs := []string{
		"PATH=" + defaultPath, "HOME=" + commandHome, "HERMES_HOME=" + c.Home, "PWD=" + c.Workspace,
		"LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/sh", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat",
	}
	pairs = append(pairs, c.Environ...)
	pairs = append(pairs, "HERMES_HOME="+c.Home, runMarker+"="+c.RunID, callMarker+"="+callID)
	out := make([]string, 0, len(pairs))
	at := map[string]int{}
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if i, ok := at[name]; ok {
			out[i] = pair
			continue
		}
		at[name] = len(out)
		out = append(out, pair)
	}
	return out
}

// checkEnviron finds entries that exec would drop or truncate.
func checkEnviron(environ []string) error {
	for i, pair := range environ {
		name, _, ok := strings.Cut(pair, "=")
		switch {
		case !ok || name == "":
			return fmt.Errorf("environ entry %d must be NAME=value", i)
		case strings.ContainsRune(pair, 0):
			return fmt.Errorf("environ entry %d (%s) contains a NUL byte", i, strings.ReplaceAll(name, "\x00", ""))
		case slices.Contains([]string{runMarker, callMarker, "HERMES_HOME"}, name):
			return fmt.Errorf("environ entry %d sets %s, which the gateway sets itself", i, name)
		}
	}
	return nil
}
