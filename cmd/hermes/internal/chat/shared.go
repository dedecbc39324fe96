package chat

// PickProfile decides which of some profiles is meant: the one wanted, the only one, or the one named default. where
// completes "there is no profile NAME".
func PickProfile(names []string, wanted, where string) (string, error) {
	return pick(names, wanted, where)
}

// Visible makes text from outside harmless for a terminal.
func Visible(s string) string { return visible(s) }

// Brief is Visible text in one line of at most n characters.
func Brief(s string, n int) string { return brief(s, n) }
