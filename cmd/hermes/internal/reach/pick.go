package reach

import (
	"fmt"
	"slices"
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/home"
)

// Pick decides which of some profiles is meant: the one wanted, the only one, or the one named default. where completes
// "there is no profile NAME".
func Pick(names []string, wanted, where string) (string, error) {
	names = slices.Sorted(slices.Values(names))
	switch {
	case wanted != "" && !slices.Contains(names, wanted):
		return "", fmt.Errorf("there is no profile %q %s%s", wanted, where, known(names))
	case wanted != "":
		return wanted, nil
	case len(names) == 0:
		return "", fmt.Errorf("there is no profile %s: declare one with hermes apply", where)
	case len(names) == 1:
		return names[0], nil
	case slices.Contains(names, home.DefaultProfile):
		return home.DefaultProfile, nil
	}
	return "", exit.Usagef("which profile? name it with -p%s", known(names))
}

func known(names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 10
	if len(names) > most {
		return fmt.Sprintf(": %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return ": " + strings.Join(names, ", ")
}
