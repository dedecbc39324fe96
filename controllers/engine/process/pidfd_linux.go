package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/runtime/host"
)

// errGone means that the process ended before it could be held.
var errGone = errors.New("the process is gone")

// handle holds one incarnation of a process by pidfd: signals cannot hit a
// recycled pid, and the end is an event of the runtime's poller, for which
// neither a thread nor a timer waits. It works for children and for adopted
// processes alike.
type handle struct {
	id   host.ProcessID
	file *os.File
	done chan struct{}
}

// openHandle holds the process if it is still the given incarnation.
func openHandle(id host.ProcessID) (*handle, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("pid %d: %w", id.PID, errGone)
	}
	if err != nil {
		return nil, fmt.Errorf("open pid %d: %w", id.PID, err)
	}
	// The descriptor pins whatever has the pid now; only then is looking at its start time free of races.
	if now := host.Observe(id.PID); id.StartTime != 0 && now.StartTime != 0 && now.StartTime != id.StartTime {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("pid %d belongs to a later process: %w", id.PID, errGone)
	}
	h := &handle{id: id, file: os.NewFile(uintptr(fd), "pidfd"), done: make(chan struct{})}
	conn, err := h.file.SyscallConn()
	if err != nil {
		_ = h.file.Close()
		return nil, fmt.Errorf("watch pid %d: %w", id.PID, err)
	}
	go h.wait(conn)
	return h, nil
}

// wait closes done once the process ended. It returns without that when the handle is closed.
func (h *handle) wait(conn syscall.RawConn) {
	err := conn.Read(func(fd uintptr) bool { return readable(fd) })
	if err == nil {
		close(h.done)
	}
}

func readable(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLIN|unix.POLLHUP) != 0
}

// ended is closed when the process has ended (it may still be a zombie).
func (h *handle) ended() <-chan struct{} { return h.done }

// signal sends a signal to exactly this process. A process that has ended is no error.
func (h *handle) signal(sig unix.Signal) error {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("signal pid %d: %w", h.id.PID, err)
	}
	var sendErr error
	if err := conn.Control(func(fd uintptr) { sendErr = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return fmt.Errorf("signal pid %d: %w", h.id.PID, err)
	}
	if sendErr != nil && !errors.Is(sendErr, unix.ESRCH) {
		return fmt.Errorf("signal pid %d: %w", h.id.PID, sendErr)
	}
	return nil
}

// close lets the process go without touching it.
func (h *handle) close() { _ = h.file.Close() }

// status collects the exit status once ended is closed, and the zombie if the
// process is our child. known is false when the kernel does not tell.
func (h *handle) status() (ws unix.WaitStatus, known bool) {
	pid, err := unix.Wait4(h.id.PID, &ws, unix.WNOHANG, nil)
	if err == nil && pid == h.id.PID {
		return ws, true
	}
	return h.foreignStatus()
}

// pidfdInfo is struct pidfd_info of the kernel, its first published size.
type pidfdInfo struct {
	Mask, CgroupID  uint64
	PID, TGID, PPID uint32
	RUID, RGID      uint32
	EUID, EGID      uint32
	SUID, SGID      uint32
	FSUID, FSGID    uint32
	ExitCode        int32
}

// pidfdGetInfo is PIDFD_GET_INFO for the structure above: _IOWR(0xff, 11, 64 bytes).
const pidfdGetInfo = 0xc040ff0b

// foreignStatus asks for the exit status of a process that somebody else
// collects; kernels tell it since 6.15, once it was collected.
func (h *handle) foreignStatus() (ws unix.WaitStatus, known bool) {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = conn.Control(func(fd uintptr) {
		// POLLHUP says that the process was collected. One that its parent never collects stays unknown.
		fds := []unix.PollFd{{Fd: int32(fd)}}
		if n, err := unix.Poll(fds, 200); err != nil || n == 0 {
			return
		}
		info := pidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
		if errno == 0 && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			ws, known = unix.WaitStatus(info.ExitCode), true
		}
	})
	return ws, known
}
