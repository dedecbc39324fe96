package attach

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed is how many served profiles a line names.
const maxNamed = 12

// Line is the host line: pid, launch profile and served set, or that the set is not published yet.
// Implements G-405.
func Line(o Owner, s ServedSet) string {
	who := fmt.Sprintf("pid %d (launched as %s)", o.PID, o.Profile)
	if !s.Known {
		return who + ", served set not published yet"
	}
	return who + " serves " + names(s.Profiles)
}

func names(profiles []string) string {
	if len(profiles) == 0 {
		return "no profile"
	}
	list := slices.Clone(profiles)
	slices.Sort(list)
	if len(list) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed)
	}
	return strings.Join(list, ", ")
}

// Command is a hermes command line about a profile's gateway.
func Command(profile, verb string) string {
	if profile == "" || profile == "default" {
		return "hermes gateway " + verb
	}
	return "hermes gateway " + verb + " -p " + profile
}

// Explain says for people what a decision means and what they can do, one line an item; empty when the process goes on
// without a word. Implements G-258.
func Explain(d Decision, profile string) []string {
	switch {
	case d.Outcome == Attach:
		return []string{
			fmt.Sprintf("profile %s is served already: %s", profile, Line(*d.Owner, d.Served)),
			"nothing was started; " + manage(*d.Owner),
		}
	case d.Outcome == Refuse && d.Transient:
		return []string{
			fmt.Sprintf("cannot tell whether profile %s is served: %s", profile, Line(*d.Owner, d.Served)),
			"nothing was started; wait at most 30 s for its rescan, or try again (a supervisor does); " + escapes(),
		}
	case d.Outcome == Refuse:
		return []string{
			fmt.Sprintf("the gateway of this host does not serve profile %s: %s", profile, Line(*d.Owner, d.Served)),
			"nothing was started; " + escapes(),
		}
	case d.Outcome == Start && d.Converge:
		return []string{
			fmt.Sprintf("starting beside %s: fold both into one gateway with hermes gateway migrate --multiplex", Line(*d.Owner, d.Served)),
		}
	default:
		return nil
	}
}

func manage(o Owner) string {
	if o.Declared {
		return "it is a declared gateway: see hermes status"
	}
	return "manage it with " + Command(o.Profile, "status") + ", restart or stop"
}

func escapes() string {
	return "fold the profiles into one gateway with hermes gateway migrate --multiplex, take over with --replace, or start a second gateway with --force"
}
