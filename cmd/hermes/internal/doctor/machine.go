package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/controlplane"
	"hermes.dev/hermes/runtime/store"
)

const (
	// spaceWarning and spaceProblem are bytes free for an ordinary user.
	spaceWarning = 1 << 30
	spaceProblem = 100 << 20
	// openFiles is what one gateway with a hundred profiles can need.
	openFiles = 4096
	// firstYear is before any of this software existed.
	firstYear = 2026
	// clockSkew is how far this clock and a server's may be apart.
	clockSkew = 5 * time.Second
)

// APIServerBinary checks that hermes up would find its control plane.
func APIServerBinary(explicit string) Check {
	return Check{"control plane program", func(context.Context) Finding {
		path, err := controlplane.FindBinary(explicit)
		if err != nil {
			return finding(Problem, "make build", "%v", err)
		}
		return ok("%s", path)
	}}
}

// DataDirectory checks that a data directory is private and ours; one that does not exist yet is fine.
func DataDirectory(dir string) Check {
	return Check{"data directory", func(context.Context) Finding {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ok("%s does not exist yet: hermes up creates it", dir)
		case err != nil:
			return finding(Problem, "", "%v", err)
		case !info.IsDir():
			return finding(Problem, "", "%s is not a directory: name another one with --data", dir)
		}
		return judgeDirectory(dir, info.Mode(), ownerOf(info), os.Getuid())
	}}
}

func judgeDirectory(dir string, mode fs.FileMode, owner, self int) Finding {
	switch {
	case owner != self:
		return finding(Problem, "", "%s belongs to uid %d and you are uid %d: use another one with --data", dir, owner, self)
	case mode.Perm()&0o700 != 0o700:
		return finding(Problem, "chmod 700 "+dir, "%s cannot be written by its owner (mode %04o)", dir, mode.Perm())
	case mode.Perm()&0o077 != 0:
		return finding(Warning, "chmod 700 "+dir, "%s can be read by others (mode %04o)", dir, mode.Perm())
	}
	return ok("%s", dir)
}

// PrivateFile checks that a file with a secret in it is readable by its owner only.
func PrivateFile(name, path string) Check {
	return Check{name, func(context.Context) Finding {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ok("not there yet")
		case err != nil:
			return finding(Problem, "", "%v", err)
		case info.Mode().Perm()&0o077 != 0:
			return finding(Problem, "chmod 600 "+path, "%s holds a token and can be read by others (mode %04o)", path, info.Mode().Perm())
		}
		return ok("%s", path)
	}}
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return os.Getuid()
}

// Space checks the free space of the filesystem a directory is, or will be, on.
func Space(dir string) Check {
	return Check{"free space", func(context.Context) Finding {
		var stat unix.Statfs_t
		if err := unix.Statfs(existing(dir), &stat); err != nil {
			return finding(Warning, "", "cannot be told for %s: %v", dir, err)
		}
		return judgeSpace(dir, stat.Bavail*uint64(stat.Bsize), stat.Ffree, stat.Files)
	}}
}

func judgeSpace(dir string, bytes, inodes, allInodes uint64) Finding {
	remedy := "free some space, or move the data directory with --data"
	switch {
	case bytes < spaceProblem:
		return finding(Problem, remedy, "%d MB are left for %s: stores stop taking messages when it is full", bytes>>20, dir)
	case allInodes > 0 && inodes < 1000: // some filesystems count none
		return finding(Problem, remedy, "%d files can still be created for %s", inodes, dir)
	case bytes < spaceWarning:
		return finding(Warning, remedy, "%d MB are left for %s", bytes>>20, dir)
	}
	return ok("%d GB", bytes>>30)
}

// Filesystem checks that SQLite's locks and shared memory can be trusted where a directory is.
func Filesystem(dir string) Check {
	return Check{"filesystem", func(context.Context) Finding {
		kind, risky := store.ProbeFilesystem(existing(dir))
		return judgeFilesystem(dir, kind, risky)
	}}
}

func judgeFilesystem(dir, kind string, risky bool) Finding {
	switch {
	case kind == "":
		return finding(Warning, "", "cannot be told for %s", dir)
	case risky:
		return finding(Warning, "move the data directory to a local disk with --data",
			"%s is on %s: stores of sessions were seen damaged there", dir, kind)
	}
	return ok("local (%s)", kind)
}

// existing is the nearest directory above a path that exists.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}

// FileLimit checks how many files a process may hold open.
func FileLimit() Check {
	return Check{"open files", func(context.Context) Finding {
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return finding(Warning, "", "limit cannot be told: %v", err)
		}
		return judgeFileLimit(limit.Cur)
	}}
}

func judgeFileLimit(limit uint64) Finding {
	if limit < openFiles {
		return finding(Warning, fmt.Sprintf("ulimit -n %d", openFiles), "a process may hold %d files open: many profiles in one gateway need more", limit)
	}
	return ok("%d a process", limit)
}

// Clock checks that the time is plausible: schedules, leases and certificates depend on it.
func Clock(now func() time.Time) Check {
	return Check{"clock", func(context.Context) Finding { return judgeClock(now(), time.Time{}) }}
}

// judgeClock compares this clock with a server's; the zero time means there is none to compare with.
func judgeClock(now, server time.Time) Finding {
	const remedy = "set the clock, for example with timedatectl set-ntp true"
	skew := now.Sub(server)
	switch {
	case now.Year() < firstYear:
		return finding(Problem, remedy, "this machine says it is %s", now.Format(time.DateOnly))
	case !server.IsZero() && skew.Abs() > clockSkew:
		return finding(Warning, remedy, "this machine and the control plane are %s apart", skew.Abs().Round(time.Second))
	}
	return ok("%s", now.Format("2006-01-02 15:04 MST"))
}

// UnmanagedHome mentions a home of an agent that hermes does not manage. It is no fault.
func UnmanagedHome(home string) Check {
	return Check{"unmanaged home", func(context.Context) Finding {
		path := filepath.Join(home, ".hermes")
		if _, err := os.Stat(path); err != nil {
			return ok("none")
		}
		if _, err := os.Stat(filepath.Join(path, ".managed")); err == nil {
			return ok("%s is managed", path)
		}
		return finding(Note, "hermes explain gateway.spec.adoptExistingHome",
			"%s is somebody's own home: hermes leaves it alone unless a Gateway names it in spec.home", path)
	}}
}
