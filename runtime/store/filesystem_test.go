package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRiskyFilesystem(t *testing.T) {
	for kind, want := range map[string]bool{
		"ext4": false, "xfs": false, "btrfs": false, "tmpfs": false, "overlay": false, "apfs": false, "": false, "0x1": false, "fusion": false,
		"virtiofs": true, "9p": true, "nfs": true, "nfs4": true, "cifs": true, "zfs": true, "fuse": true, "fuse.sshfs": true, "vboxsf": true,
	} {
		if got := riskyFilesystem(kind); got != want {
			t.Errorf("%q: %v, want %v", kind, got, want)
		}
	}
}

func TestMountKind(t *testing.T) {
	const list = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 22 0:27 / /mnt/share rw,nosuid shared:5 master:1 - virtiofs share rw
310 22 0:28 / /mnt/x\040y rw - fuse.sshfs host:/ rw
40 22 0:29 / /mnt/cut rw -
`
	for mount, want := range map[uint64]string{22: "ext4", 31: "virtiofs", 310: "fuse.sshfs", 3: "", 40: "", 0: ""} {
		if got, err := mountKind(strings.NewReader(list), mount); got != want || err != nil {
			t.Errorf("%d: %q, %v, want %q", mount, got, err, want)
		}
	}
}

// TestProbeFilesystem: this machine's own mounts; /proc is one whose kind is known.
func TestProbeFilesystem(t *testing.T) {
	if kind, risky := ProbeFilesystem("/proc"); kind != "proc" || risky {
		t.Errorf("/proc is %q, risky %v", kind, risky)
	}
	if kind, _ := ProbeFilesystem(t.TempDir()); kind == "" || strings.HasPrefix(kind, "0x") {
		t.Errorf("a temporary directory is on %q", kind)
	}
	if kind, risky := ProbeFilesystem(filepath.Join(t.TempDir(), "gone")); kind != "" || risky {
		t.Errorf("a missing directory is on %q, risky %v", kind, risky)
	}
	for number, want := range map[int64]string{0x6969: "nfs", 0x01021997: "9p", 0x65735546: "fuse", 0xff534d42: "cifs", 0xfe534d42: "cifs", 0x517b: "cifs", 0xef53: "0xef53"} {
		if got := kindByNumber(number); got != want {
			t.Errorf("%#x: %q, want %q", number, got, want)
		}
	}
}
