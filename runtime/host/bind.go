package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// boundSocket is a listening socket at its address, with the pointer file when the address is not in the home.
type boundSocket struct {
	address  SocketAddress
	listener *net.UnixListener
	info     fs.FileInfo
	closed   *sync.Once
}

// bindSocket listens at the address and replaces whatever is left there. The socket is created in a private directory,
// made owner-only and then moved into place: nobody else can connect at any instant, and the process-wide umask, which
// would race with every other goroutine that creates files, is left alone.
// Implements G-241.
func bindSocket(address SocketAddress) (boundSocket, error) {
	private, err := os.MkdirTemp(filepath.Dir(address.Path), ".gw")
	if err != nil {
		return boundSocket{}, err
	}
	defer os.RemoveAll(private)
	temp := filepath.Join(private, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return boundSocket{}, err
	}
	listener.SetUnlinkOnClose(false)
	info, err := place(temp, address)
	if err != nil {
		return boundSocket{}, errors.Join(err, listener.Close())
	}
	return boundSocket{address: address, listener: listener, info: info, closed: new(sync.Once)}, nil
}

// place moves a bound socket to its address and writes the pointer.
func place(temp string, address SocketAddress) (fs.FileInfo, error) {
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, err
	}
	info, err := os.Lstat(temp)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(temp, address.Path); err != nil {
		return nil, fmt.Errorf("replace what is at the socket's address: %w", err)
	}
	if address.Pointer == "" {
		return info, nil
	}
	if err := writePrivate(address.Pointer, []byte(address.Path+"\n")); err != nil {
		return nil, errors.Join(err, os.Remove(address.Path))
	}
	return info, nil
}

// close stops listening and removes socket and pointer unless a later gateway has put its own there.
func (b boundSocket) close() (err error) {
	b.closed.Do(func() {
		err = b.listener.Close()
		now, statErr := os.Lstat(b.address.Path)
		if statErr != nil || !os.SameFile(b.info, now) {
			return
		}
		err = errors.Join(err, os.Remove(b.address.Path))
		if b.address.Pointer == "" {
			return
		}
		_, removeErr := removeIf(b.address.Pointer, func(data []byte) bool {
			return string(bytes.TrimSpace(data)) == b.address.Path
		})
		err = errors.Join(err, removeErr)
	})
	return err
}
