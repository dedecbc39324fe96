//go:build !linux

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// tree without procfs is the command's process group. A process that leaves
// the group outlives the command.
type tree struct{ leader int }

func newTree(leader int, _ *callSpan, _ command, _ *os.File) *tree { return &tree{leader: leader} }

// awaitExit waits for the command; the caller's own Wait then finds its state.
func awaitExit(cmd *exec.Cmd) error { return cmd.Wait() }

func (t *tree) kill() (killed, survivors int) {
	_ = syscall.Kill(-t.leader, syscall.SIGKILL)
	return 0, 0
}
