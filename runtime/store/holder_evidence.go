package store

import (
	"path/filepath"
	"slices"
	"strings"
)

// ownHome is the home a store belongs to, as far as its path tells.
type ownHome struct {
	// database is the store's file, dir its home.
	database, dir string
	// root and profile are set when dir is <root>/profiles/<profile>; otherwise root is dir and profile is empty.
	root, profile string
	// real resolves symbolic links; nil leaves paths as they are.
	real func(path string) string
}

const profilesDir = "profiles"

// defaultProfile is the profile that lives at a root itself.
const defaultProfile = "default"

func newOwnHome(database string) ownHome {
	h := ownHome{database: database, dir: filepath.Dir(database)}
	h.root = h.dir
	if parent := filepath.Dir(h.dir); filepath.Base(parent) == profilesDir {
		h.root, h.profile = filepath.Dir(parent), filepath.Base(h.dir)
	}
	return h
}

// evidence is what a command line says about the home a process belongs to.
type evidence int

const (
	noEvidence evidence = iota
	thisHome
	otherHome
)

// judgeArgv ranks what a command line shows. From strong to weak: our database or a sidecar of it named exactly; an
// explicit selection of a home or profile; a path inside a profile. Program names and paths of a shared install
// root say nothing. It is pure.
//
// Implements S-143.
func judgeArgv(argv []string, h ownHome) evidence {
	if slices.ContainsFunc(argv, func(word string) bool { return h.mentionsStore(word) }) {
		return thisHome
	}
	if verdict := h.judgeSelection(readSelection(argv)); verdict != noEvidence {
		return verdict
	}
	verdict := noEvidence
	for i, word := range argv {
		if i == 0 && h.profile == "" {
			continue // where the program lies never proves another home for one that lies anywhere
		}
		switch h.judgePath(word) {
		case thisHome:
			return thisHome
		case otherHome:
			verdict = otherHome
		}
	}
	return verdict
}

// mentionsStore is true for a word that is, or sets something to, one of the store's files.
func (h ownHome) mentionsStore(word string) bool {
	if _, value, ok := strings.Cut(word, "="); ok && h.mentionsStore(value) {
		return true
	}
	word, _, _ = strings.Cut(strings.TrimPrefix(word, "file:"), "?")
	word = h.resolve(word)
	for _, suffix := range append([]string{""}, sidecars...) {
		if word == h.database+suffix {
			return true
		}
	}
	return false
}

// selection is the home and the profile a command line chooses, empty when it does not.
type selection struct{ home, profile string }

// readSelection reads the flags that choose, as whole words; the last one counts.
func readSelection(argv []string) selection {
	var s selection
	for i, word := range argv {
		name, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		switch name {
		case "HERMES_HOME":
			if joined {
				s.home = value
			}
		case "--hermes-home", "--home":
			s.home = value
		case "-p", "--profile":
			s.profile = value
		}
	}
	if !filepath.IsAbs(s.home) {
		s.home = ""
	}
	return s
}

// judgeSelection compares a selection with this home. A gateway may serve every profile under the root it was given,
// so choosing a root, or the default profile at it, says nothing about the profiles below.
func (h ownHome) judgeSelection(s selection) evidence {
	root, chosen := h.root, s.profile
	if s.home != "" {
		chose := newOwnHome(filepath.Join(h.resolve(s.home), filepath.Base(h.database)))
		root = chose.root
		if chosen == "" {
			chosen = chose.profile
		}
	}
	own := h.profile
	if own == defaultProfile {
		own = ""
	}
	if chosen == defaultProfile {
		chosen = ""
	}
	switch {
	case s == selection{}:
		return noEvidence
	case root != h.root:
		return otherHome
	case chosen == own:
		return thisHome
	case chosen == "":
		return noEvidence
	default:
		return otherHome
	}
}

// judgePath places a word that is a path under the root's profiles.
func (h ownHome) judgePath(word string) evidence {
	if _, value, ok := strings.Cut(word, "="); ok {
		word = value
	}
	if !filepath.IsAbs(word) {
		return noEvidence
	}
	rest, ok := strings.CutPrefix(h.resolve(word), filepath.Join(h.root, profilesDir)+"/")
	if !ok {
		return noEvidence
	}
	name, _, _ := strings.Cut(rest, "/")
	if name == h.profile {
		return thisHome
	}
	return otherHome
}

// resolve cleans an absolute path and follows its symbolic links.
func (h ownHome) resolve(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	path = filepath.Clean(path)
	if h.real == nil {
		return path
	}
	return h.real(path)
}

// looksLikeHermes is true for a process whose program, or a program or module it was told to run, has hermes in its
// name. Too many is better than too few: it only counts where nothing else could be learned.
func looksLikeHermes(p process) bool {
	if strings.Contains(strings.ToLower(p.name), "hermes") {
		return true
	}
	return slices.ContainsFunc(p.argv, func(word string) bool {
		return strings.Contains(strings.ToLower(filepath.Base(word)), "hermes") || strings.HasPrefix(word, "HERMES_")
	})
}
