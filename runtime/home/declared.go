package home

import (
	"path/filepath"
)

// Declared returns whether a file of a home, by slash-separated path relative to it, is one that a declaration owns: its
// content comes from there and is written again when it changes. In a home that nothing manages no file is.
func Declared(home string) (func(rel string) bool, error) {
	r, err := readRecord(home)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return func(string) bool { return false }, nil
	}
	files := r.tree("").Files
	return func(rel string) bool {
		_, declared := files[rel]
		return declared || rel == configName || rel == envName
	}, nil
}

// DeclaredFile reports whether rel, a path in the home of p, is a file that the Profile declares. When that cannot be
// told, everything counts as declared: nothing a person may own is changed on a guess.
func DeclaredFile(p Paths, rel string) bool {
	declared, err := Declared(p.Home)
	return err != nil || declared(filepath.ToSlash(filepath.Clean(rel)))
}
