package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// File names of the control socket inside a home.
const (
	SocketFileName  = "gateway.sock"
	PointerFileName = "gateway.sock.path"
)

// maxSocketPathBytes is the longest path that is bound as it is. Kernels stop at 104 to 108 bytes including the
// terminator; the margin leaves room for all of them.
const maxSocketPathBytes = 100

// SocketAddress says where a home's control socket is bound.
type SocketAddress struct {
	// Path is what is bound and dialled.
	Path string
	// Pointer is the file that says where Path is, "" when Path lies in the home itself.
	Pointer string
}

// SocketPath places the control socket of a home. When the direct path is too long the socket goes to tempDir, or to
// /tmp when only that is short enough, under a name derived from the home.
// Implements G-240.
func SocketPath(home, tempDir string) SocketAddress {
	path, inHome := PlaceSocket(home, tempDir, SocketFileName, "hermes-gw-")
	if inHome {
		return SocketAddress{Path: path}
	}
	return SocketAddress{Path: path, Pointer: filepath.Join(home, PointerFileName)}
}

// PlaceSocket finds a path of at most 100 bytes for a socket of a home: file in the home itself, else a name with the
// prefix that is derived from the home, in tempDir or, when only that is short enough, in /tmp.
func PlaceSocket(home, tempDir, file, prefix string) (path string, inHome bool) {
	direct := filepath.Join(home, file)
	if len(direct) <= maxSocketPathBytes {
		return direct, true
	}
	sum := sha256.Sum256([]byte(HomeKey(home)))
	name := prefix + hex.EncodeToString(sum[:])[:16] + ".sock"
	path = filepath.Join(tempDir, name)
	if tempDir == "" || len(path) > maxSocketPathBytes {
		path = filepath.Join("/tmp", name)
	}
	return path, false
}

// maxPointerBytes bounds the pointer file's content, one path.
const maxPointerBytes = 4096

// findSocket returns the path at which a client reaches the control socket of a home.
func findSocket(home string) (string, error) {
	direct := filepath.Join(home, SocketFileName)
	if len(direct) <= maxSocketPathBytes {
		return direct, nil
	}
	pointer := filepath.Join(home, PointerFileName)
	data, err := readSmallFile(pointer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(data))
	if len(data) > maxPointerBytes || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%s does not hold an absolute path", pointer)
	}
	return path, nil
}

// checkSocketOwner refuses a socket that another user put in our way, which is possible in a shared temporary directory.
func checkSocketOwner(path string, uid int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket", path)
	}
	if owner := ownerOf(info); owner != uid {
		return fmt.Errorf("%s belongs to uid %d, not to uid %d", path, owner, uid)
	}
	return nil
}
