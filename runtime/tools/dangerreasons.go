package tools

import "slices"

// Why a command is dangerous although no pattern says so: what it is written with, what a reading of it cannot tell, and
// what it reaches from this home.
const (
	reasonUnseen     = "contains characters that cannot be seen"
	reasonGap        = "contains a gap that is none for the shell"
	reasonDash       = "contains a dash that is none for programs"
	reasonTooLong    = "is too long or too deeply nested to be judged"
	reasonUnreadable = "cannot be read as a shell command"
	reasonOutput     = "runs the output of another program as a program"
	reasonComputed   = "computes which program it runs"
	reasonPattern    = "gives the program it runs by a pattern"
	reasonMistaken   = "runs a program whose name may be mistaken for another"
	reasonSecrets    = "names a protected file of the home, of another profile, of the gateway or of the control plane"
	reasonThrough    = "goes through a directory with the agent's home in it"
	reasonOutside    = "deletes recursively outside the workspace"
)

// DangerReasons lists everything that makes a command dangerous, sorted. docs/approvals.md names each; a test holds it
// to that.
func DangerReasons() []string {
	out := []string{
		reasonUnseen, reasonGap, reasonDash, reasonTooLong, reasonUnreadable, reasonOutput, reasonComputed, reasonPattern, reasonMistaken,
		reasonSecrets, reasonThrough, reasonOutside,
	}
	for _, row := range dangerTable() {
		out = append(out, row[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}
