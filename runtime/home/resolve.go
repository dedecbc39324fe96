package home

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Environment is what home resolution looks at, as values.
type Environment struct {
	// Override is the home chosen for this one execution, empty for none.
	Override string
	// HermesHome is the value of HERMES_HOME.
	HermesHome string
	// UserHome is the person's home directory; it selects nothing but the platform default (G-106).
	UserHome string
	// LocalAppData is the value of LOCALAPPDATA, used on Windows only.
	LocalAppData string
	// GOOS is the operating system, as in runtime.GOOS.
	GOOS string
}

// ReadEnvironment reads the process environment. It is the only place in the runtime that does.
func ReadEnvironment() Environment {
	userHome, _ := os.UserHomeDir()
	return Environment{
		HermesHome:   os.Getenv("HERMES_HOME"),
		UserHome:     userHome,
		LocalAppData: os.Getenv("LOCALAPPDATA"),
		GOOS:         runtime.GOOS,
	}
}

// ErrNoHome means that neither HERMES_HOME nor the user's home directory is known.
var ErrNoHome = errors.New("no home directory is known: set HERMES_HOME to an absolute path")

// EffectiveHome is where work of this execution belongs: the override, else the process home.
// Implements G-101 and G-103.
func EffectiveHome(e Environment) (string, error) {
	if h := strings.TrimSpace(e.Override); h != "" {
		return absolute(h, e)
	}
	return ProcessHome(e)
}

// ProcessHome is the home of the process itself, where its identity files (pid, locks, sockets) are. An override
// for one execution never moves it. Implements G-103.
func ProcessHome(e Environment) (string, error) {
	if h := strings.TrimSpace(e.HermesHome); h != "" {
		return absolute(h, e)
	}
	if e.GOOS == "windows" {
		if e.LocalAppData == "" {
			return "", ErrNoHome
		}
		return filepath.Join(e.LocalAppData, "hermes"), nil
	}
	if e.UserHome == "" {
		return "", ErrNoHome
	}
	return filepath.Join(e.UserHome, ".hermes"), nil
}

// RootOf derives the root that a home belongs to: <X>/profiles/<name> has the root X, any other home is its own
// root. Implements G-102.
func RootOf(home string) string {
	root, _ := splitHome(home)
	return root
}

// NameOf is the profile name of a home: the last element of <X>/profiles/<name>, else default. Implements G-102.
func NameOf(home string) string {
	_, name := splitHome(home)
	return name
}

func splitHome(home string) (root, name string) {
	home = filepath.Clean(home)
	parent, base := filepath.Dir(home), filepath.Base(home)
	if filepath.Base(parent) == profilesDir && base != DefaultProfile && profileName.MatchString(base) {
		return filepath.Dir(parent), base
	}
	return home, DefaultProfile
}

// Key is a stable key for a home: symlinks resolved, and folded where the system ignores case. It is a key only;
// never build a path from it. Implements G-104.
func Key(home string, e Environment) string {
	abs, err := absolute(home, e)
	if err != nil {
		abs = filepath.Clean(home)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if e.GOOS == "windows" || e.GOOS == "darwin" {
		abs = strings.ToLower(abs)
	}
	return abs
}

// Same says whether two paths are one home. Implements G-105.
func Same(a, b string, e Environment) bool { return Key(a, e) == Key(b, e) }

func absolute(path string, e Environment) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if e.UserHome == "" {
			return "", ErrNoHome
		}
		path = filepath.Join(e.UserHome, strings.TrimPrefix(path, "~"))
	}
	return filepath.Abs(path)
}
