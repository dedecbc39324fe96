package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
)

const (
	defaultIdentity = "You are Hermes, a personal agent. You are concise, honest about what you do not know, and careful with what belongs to the person you work for."
	// steerNote says which frame to trust; everything else inside a tool result is data (P-25).
	steerNote = "Text between " + agent.SteerOpening + " and " + agent.SteerClosing + " in a message of role user comes from the person, who said it while you were working: take it into account at once."
	// maxContextFile bounds one file that goes into the prompt, in bytes.
	maxContextFile = 64 << 10
)

// systemPrompt builds the system prompt of a new session: who the agent is
// (SOUL.md), what the workspace says of itself (AGENTS.md), and where it works.
// fromTools is what its tools add: notes and skills. It is built once per session and stored, so it may hold the date.
func systemPrompt(_ context.Context, paths home.Paths, workspace, fromTools string, now time.Time) (string, error) {
	identity, err := contextFile(os.OpenFile(paths.Soul(), openFlags, 0))
	if err != nil {
		return "", err
	}
	if identity == "" {
		identity = defaultIdentity
	}
	parts := []string{identity}
	switch project, err := projectContext(workspace); {
	case err != nil: // what a tool can write must not keep the profile from answering
		parts = append(parts, "AGENTS.md of the working directory was not read: "+err.Error())
	case project != "":
		parts = append(parts, "# Project context (AGENTS.md)\n\n"+project)
	}
	if fromTools != "" {
		parts = append(parts, fromTools)
	}
	parts = append(parts, steerNote, fmt.Sprintf("Your working directory is %s. The session began on %s.", workspace, now.Format("Monday, 2 January 2006")))
	return strings.Join(parts, "\n\n"), nil
}

// projectContext reads AGENTS.md. Tools write in the workspace, so a link may not lead out of it: what is in a
// prompt can be asked for.
func projectContext(workspace string) (string, error) {
	root, err := os.OpenRoot(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	return contextFile(root.OpenFile("AGENTS.md", openFlags, 0))
}

// openFlags do not wait for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// contextFile reads a small text file; one that is missing is empty, a longer one is cut and says so.
func contextFile(f *os.File, err error) (string, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file: remove it", f.Name())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxContextFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxContextFile {
		return strings.ToValidUTF8(string(data[:maxContextFile]), "") + "\n\n[cut here: the file is longer]", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "�")), nil
}
