package datadir

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// Ours refuses a data directory, or a kubeconfig in it, that belongs to another user; what is not there is nobody's.
// That holds for root too: root can read it all and would leave files behind that its owner cannot, and a directory
// that somebody else owns may hold their kubeconfig in place of ours. The error has exit code 78.
func (d Dir) Ours() error {
	for _, path := range []string{string(d), d.ControlPlane().Dir, d.ControlPlane().Kubeconfig()} {
		info, err := os.Stat(path)
		if err != nil {
			continue // whoever needs it says what is wrong with it
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			return exit.Refusedf("%w", &foreignError{Path: path, Owner: int(st.Uid), User: os.Geteuid()})
		}
	}
	return nil
}

// foreignError names a path that belongs to somebody else.
type foreignError struct {
	Path        string
	Owner, User int
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s belongs to %s and this command runs as %s: run it as %s, or name another data directory with --data or HERMES_DATA",
		e.Path, userName(e.Owner), userName(e.User), userName(e.Owner))
}

// userName is a user as people and as the kernel name it.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}
