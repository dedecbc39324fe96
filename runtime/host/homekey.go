package host

import (
	"path/filepath"
	"runtime"
	"strings"
)

// HomeKey returns the stable key of a home: its absolute, symlink-resolved path, case-folded where the operating system
// is. It is a key only; never rebuild a path from it. A home that does not exist is keyed by its cleaned path.
// Implements G-104.
func HomeKey(home string) string {
	return foldCase(canonicalHome(home), caseInsensitiveHost)
}

// SameHome reports whether two paths name one home under the host's case rules. An empty path names no home.
// Implements G-105.
func SameHome(a, b string) bool {
	return a != "" && b != "" && HomeKey(a) == HomeKey(b)
}

const caseInsensitiveHost = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

func canonicalHome(home string) string {
	abs, err := filepath.Abs(home)
	if err != nil {
		abs = filepath.Clean(home)
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		return resolved
	}
	return abs
}

func foldCase(path string, insensitive bool) string {
	if insensitive {
		return strings.ToLower(path)
	}
	return path
}
