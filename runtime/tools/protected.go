package tools

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// access is what a tool is about to do with a path.
type access int

const (
	reading access = iota
	writing
)

// protectedNames are files and directories of a home that hold secrets, locks,
// sockets or other people's data. No tool reads or writes them.
var protectedNames = []string{
	".env", ".env.*", "auth.json*", ".managed", ".hermes-*", "*.lock", "*.sock", "*.sock.path", "*.token", "gateway.pid",
	"mcp-tokens", "state-snapshots", "backups", "profiles",
}

// writeProtectedNames decide what the agent may do or run inside the gateway;
// an agent that writes them would be granting rights to itself.
var writeProtectedNames = []string{"config.yaml", "shell-hooks-allowlist.json", "gateway_state.json", ApprovalsFile, "processes.json", "hooks", "plugins"}

// protection says why a place may not be used, or "". The place must be free
// of symlinks. Names are compared without case, because the disk may do so.
//
// Implements S-133 for tools: a file named state.db* is refused wherever it
// lies, since another profile of this process may be serving it.
func (b *sandbox) protection(p place, a access) string {
	abs := p.abs()
	if matchesAny(filepath.Base(abs), []string{"state.db*"}) {
		return "is an agent's own store, which tools must not open"
	}
	rel, ok := below(b.home, abs)
	if !ok {
		if b.foreign(p) {
			return "belongs to another agent or to the control plane"
		}
		return ""
	}
	first, rest, _ := strings.Cut(rel, "/")
	name := path.Base(rel)
	switch {
	case matchesAny(first, protectedNames),
		first == "cron" && !strings.Contains(rest, "/") && matchesAny(name, []string{"*.lock"}):
		return "belongs to the agent's home and holds secrets, locks or other profiles' data"
	case a == writing && matchesAny(first, writeProtectedNames):
		return "decides what this agent may do, so the agent must not change it"
	}
	return ""
}

func matchesAny(name string, patterns []string) bool {
	name = strings.ToLower(name)
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// secretFiles are the files of a home that a hard link could make reachable
// under another name.
var secretFiles = []string{".env", "auth.json", "state.db", "state.db-wal", "state.db-shm", "state.db-journal", ".managed"}

// alias reports that info is a secret file of this or another home under another
// name. It only asks for file information and opens nothing.
func (b *sandbox) alias(info os.FileInfo) bool {
	return sameAsAny(info, b.home, secretFiles) || b.linked(info)
}

// admit resolves a path for an access and refuses protected places.
func (b *sandbox) admit(path string, a access) (place, error) {
	p, err := b.resolve(path)
	if err != nil {
		return place{}, err
	}
	if why := b.protection(p, a); why != "" {
		return place{}, fmt.Errorf("%s %s", path, why)
	}
	return p, nil
}
