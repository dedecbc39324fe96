//go:build !linux

package store

import "golang.org/x/sys/unix"

// ProbeFilesystem names the filesystem that dir is on and says whether stores were seen damaged on that kind. A kind
// that cannot be told is empty and not called risky.
func ProbeFilesystem(dir string) (kind string, risky bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return "", false
	}
	kind = unix.ByteSliceToString(stat.Fstypename[:])
	return kind, riskyFilesystem(kind)
}
