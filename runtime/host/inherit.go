package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// BindOrInherit takes over a listening socket that a predecessor in this place left open, with everybody who waits in its
// queue, when its file is still at the address; else it is [Bind]. The file is closed in either case.
func BindOrInherit(address SocketAddress, inherited *os.File) (BoundSocket, error) {
	if inherited == nil {
		return Bind(address)
	}
	listener, err := listenerOf(inherited)
	err = errors.Join(err, inherited.Close())
	if err != nil {
		return Bind(address)
	}
	info, err := os.Lstat(address.Path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return Bind(address) // nobody could find the inherited one
	}
	return BoundSocket{address: address, listener: listener, info: info, closed: new(sync.Once)}, nil
}

func listenerOf(file *os.File) (*net.UnixListener, error) {
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	unix, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is not a unix socket", file.Name()), l.Close())
	}
	unix.SetUnlinkOnClose(false)
	return unix, nil
}
