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

// BoundSocket is a listening socket at its address, with the pointer file when the address has one.
type BoundSocket struct {
	address  SocketAddress
	listener *net.UnixListener
	info     fs.FileInfo
	closed   *sync.Once
}

// Bind listens at the address and replaces whatever is left there: call it only while holding the home's lock. The socket is created in a private directory,
// made owner-only and then moved into place: nobody else can connect at any instant, and the process-wide umask, which
// would race with every other goroutine that creates files, is left alone.
// Implements G-241.
func Bind(address SocketAddress) (BoundSocket, error) {
	private, err := os.MkdirTemp(filepath.Dir(address.Path), ".gw")
	if err != nil {
		return BoundSocket{}, err
	}
	defer os.RemoveAll(private)
	temp := filepath.Join(private, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return BoundSocket{}, err
	}
	listener.SetUnlinkOnClose(false)
	info, err := place(temp, address)
	if err != nil {
		return BoundSocket{}, errors.Join(err, listener.Close())
	}
	return BoundSocket{address: address, listener: listener, info: info, closed: new(sync.Once)}, nil
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

// Path returns the address that is bound.
func (b BoundSocket) Path() string { return b.address.Path }

// Listener accepts the connections; closing it leaves the files, which is for Close.
func (b BoundSocket) Listener() *net.UnixListener { return b.listener }

// Unlink removes the socket from its address, if it is still ours: who is connected stays so, and nobody else can connect.
func (b BoundSocket) Unlink() {
	if now, err := os.Lstat(b.address.Path); err == nil && os.SameFile(b.info, now) {
		_ = os.Remove(b.address.Path)
	}
}

// Close stops listening and removes socket and pointer unless a later gateway has put its own there. Closing twice, or
// after the listener, is harmless.
func (b BoundSocket) Close() (err error) {
	b.closed.Do(func() {
		if err = b.listener.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
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
