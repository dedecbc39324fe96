package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// RendezvousDir returns the directory in which one operating system user's gateways find each other, shared by all
// profiles. The arguments are the values of $HERMES_GATEWAY_LOCK_DIR, $XDG_STATE_HOME and the user's home directory;
// empty means unset.
// Implements G-220.
func RendezvousDir(lockDir, stateHome, userHome string) string {
	switch {
	case lockDir != "":
		return lockDir
	case stateHome != "":
		return filepath.Join(stateHome, "hermes", "gateway-locks")
	default:
		return filepath.Join(userHome, ".local", "state", "hermes", "gateway-locks")
	}
}

// prepareLockDir creates the directory with mode 0700, or repairs the mode of an existing one, before anything in it is
// trusted. It refuses a directory of another user.
// Implements G-220.
func prepareLockDir(dir string, uid int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("lock directory: %w", err)
	}
	return repairLockDir(dir, uid)
}

// repairLockDir takes group and other bits off an existing directory of ours.
func repairLockDir(dir string, uid int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("lock directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("lock directory %s is not a directory", dir)
	}
	if owner := ownerOf(info); owner != uid {
		return fmt.Errorf("lock directory %s belongs to uid %d, not to uid %d: choose another with HERMES_GATEWAY_LOCK_DIR", dir, owner, uid)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make the lock directory private: %w", err)
	}
	return nil
}

// ownerOf returns the uid that owns a file, or -1 when the platform does not say.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
