package store

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// riskyFilesystem is true for filesystems on which stores were seen damaged, because their locks, their shared memory
// or what they flush are not those of a local disk. Everything that a user-space program serves is among them.
func riskyFilesystem(kind string) bool {
	switch kind {
	case "virtiofs", "9p", "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "vboxsf", "vmhgfs", "prl_fs", "afs", "afpfs", "webdav",
		"ceph", "glusterfs", "lustre", "zfs", "fuse", "fuseblk", "osxfuse", "macfuse":
		return true
	}
	return strings.HasPrefix(kind, "fuse.") || strings.HasPrefix(kind, "fuse-")
}

// mountKind finds the filesystem's name in /proc/self/mountinfo text by the mount's number; empty when it is not there.
func mountKind(mountinfo io.Reader, mount uint64) (string, error) {
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] != strconv.FormatUint(mount, 10) {
			continue
		}
		for i, field := range fields { // optional fields end with a dash
			if field == "-" && i+1 < len(fields) {
				return fields[i+1], nil
			}
		}
	}
	return "", lines.Err()
}

// kindByNumber names the kinds that matter by their numbers in linux/magic.h, for where the mount table names none.
func kindByNumber(number int64) string {
	switch number {
	case 0x6969:
		return "nfs"
	case 0x01021997:
		return "9p"
	case 0x65735546:
		return "fuse"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "cifs"
	case 0x00c36400:
		return "ceph"
	case 0x786f4256:
		return "vboxsf"
	case 0x2fc12fc1:
		return "zfs"
	}
	return fmt.Sprintf("0x%x", number)
}
