package home

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
