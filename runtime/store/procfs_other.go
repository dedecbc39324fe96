//go:build !linux

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// scanHolders asks lsof, the only listing of open files that other systems share. Without it quiet cannot be proven.
func scanHolders(ctx context.Context, wanted map[string]watched, holders map[string][]Holder) error {
	for path, w := range wanted {
		found, err := askLsof(ctx, w)
		if err != nil {
			return err
		}
		holders[path] = found
	}
	return nil
}

func askLsof(ctx context.Context, w watched) ([]Holder, error) {
	if len(w.names) == 0 {
		return nil, nil
	}
	args := []string{"-n", "-P", "-w", "-F", "pcn", "--", w.path}
	for _, suffix := range sidecars {
		if identify(w.path+suffix).ino != 0 {
			args = append(args, w.path+suffix)
		}
	}
	text, err := exec.CommandContext(ctx, "lsof", args...).Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) && len(exited.Stderr) == 0 {
		err = nil // it exits with 1 when nobody has one of the files open
	}
	if err != nil {
		return nil, fmt.Errorf("list open files: %w", err)
	}
	return parseOpenFiles(strings.NewReader(string(text)), os.Getpid())
}

// scanUnlinked finds nothing: these systems do not name unlinked files.
func scanUnlinked() ([]unlinked, error) { return nil, nil }

// ownDescriptors finds none: these systems do not list them.
func ownDescriptors(map[string]fileID) map[fileID][]int { return nil }

// commandLine is not available.
func commandLine(int) []string { return nil }
