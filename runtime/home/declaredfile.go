package home

import "path/filepath"

// DeclaredFile reports whether a file of the home, by its path relative to it, is declared in the Profile: what is
// changed there by hand does not last. When the record cannot be read it says yes, the answer that changes nothing.
func DeclaredFile(p Paths, rel string) bool {
	r, err := readRecord(p.Home)
	if err != nil {
		return true
	}
	_, declared := r.tree(homeTree).Files[filepath.ToSlash(filepath.Clean(rel))]
	return declared
}
