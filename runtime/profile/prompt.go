package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/home"
)

const (
	defaultIdentity = "You are Hermes, a personal agent. You are concise, honest about what you do not know, and careful with what belongs to the person you work for."
	// maxContextFile bounds one file that goes into the prompt, in bytes.
	maxContextFile = 64 << 10
)

// systemPrompt builds the system prompt of a new session: who the agent is
// (SOUL.md), what the workspace says of itself (AGENTS.md), and where it works.
// It is built once per session and stored, so it may hold the date.
func systemPrompt(_ context.Context, paths home.Paths, workspace string, now time.Time) (string, error) {
	identity, err := contextFile(paths.Soul())
	if err != nil {
		return "", err
	}
	if identity == "" {
		identity = defaultIdentity
	}
	parts := []string{identity}
	project, err := contextFile(filepath.Join(workspace, "AGENTS.md"))
	if err != nil {
		return "", err
	}
	if project != "" {
		parts = append(parts, "# Project context (AGENTS.md)\n\n"+project)
	}
	parts = append(parts, fmt.Sprintf("Your working directory is %s. The session began on %s.", workspace, now.Format("Monday, 2 January 2006")))
	return strings.Join(parts, "\n\n"), nil
}

// contextFile reads a small text file; one that is missing is empty, a longer one is cut and says so.
func contextFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if len(data) > maxContextFile {
		return strings.ToValidUTF8(string(data[:maxContextFile]), "") + "\n\n[cut here: the file is longer]", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "�")), nil
}
