package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// ProbeFilesystem names the filesystem that dir is on and says whether stores were seen damaged on that kind. A kind
// that cannot be told is empty and not called risky.
func ProbeFilesystem(dir string) (kind string, risky bool) {
	kind = mountedAs(dir)
	return kind, riskyFilesystem(kind)
}

// mountedAs asks for the mount first, because its name tells virtiofs from other file servers, which share a number.
func mountedAs(dir string) string {
	var info unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &info); err == nil && info.Mask&unix.STATX_MNT_ID != 0 {
		if list, err := os.Open("/proc/self/mountinfo"); err == nil {
			defer list.Close()
			if kind, err := mountKind(list, info.Mnt_id); err == nil && kind != "" {
				return kind
			}
		}
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return ""
	}
	return kindByNumber(int64(stat.Type))
}
