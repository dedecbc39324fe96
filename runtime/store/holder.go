package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Holder is a process that has a store's files open, or one that may have and cannot be asked.
type Holder struct {
	// PID is the process; ScanFailedPID when the scan itself failed, so that quiet cannot be proven.
	PID int
	// Command is the shortened command line in one line, empty when it cannot be read.
	Command string
	// Files are the sorted base names of what it has open; an unlinked one ends in " (deleted)". Empty when it
	// could not be inspected.
	Files []string
	// Uninspectable is why its descriptors could not be read, empty when they could.
	Uninspectable string
}

// String is `PID 7 (hermes gateway run)`.
//
// Implements S-119.
func (h Holder) String() string { return describeProcess(h.PID, h.Command) }

// ScanFailedPID is the PID of the Holder that stands for a scan that failed.
const ScanFailedPID = -1

// deletedMark is what the kernel appends to the name of an unlinked file.
const deletedMark = " (deleted)"

// ScanHolders lists the other processes that have the store at dbPath open, by ascending pid. This process is left
// out: inside it the store's lock decides (S-144). No file of the store is opened.
//
// It fails closed: a process that looks like Hermes, cannot be inspected and does not show that it belongs to
// another home is listed with the reason in Uninspectable, and a scan that failed is a Holder of its own with PID
// ScanFailedPID. The error is only that the context ended; even then the list is not empty.
//
// Implements S-142.
func ScanHolders(ctx context.Context, dbPath string) ([]Holder, error) {
	holders, err := ScanHoldersOf(ctx, dbPath)
	return holders[dbPath], err
}

// ScanHoldersOf is ScanHolders for several stores in one walk over the processes, by the paths it was given.
func ScanHoldersOf(ctx context.Context, dbPaths ...string) (map[string][]Holder, error) {
	holders, wanted := map[string][]Holder{}, map[string]watched{}
	failed := func(path string, err error) {
		holders[path] = append([]Holder{{PID: ScanFailedPID, Uninspectable: err.Error()}}, holders[path]...)
	}
	for _, path := range dbPaths {
		w, err := watch(path)
		if err != nil {
			failed(path, err)
			continue
		}
		wanted[path] = w
	}
	err := scanHolders(ctx, wanted, holders)
	for path := range wanted {
		if err != nil {
			failed(path, err)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return holders, fmt.Errorf("holder scan: %w", cause)
	}
	return holders, nil
}

// watched is what a holder scan looks for.
type watched struct {
	// path is the database with symbolic links resolved.
	path string
	// names are the base names by identity; only files that exist.
	names map[fileID]string
	// dev is the device of the database, or of its directory when there is no database.
	dev uint64
	// home is what the evidence of a command line is compared with.
	home ownHome
}

// watch resolves dbPath and identifies the store's files. A store that does not exist is watched by name.
func watch(dbPath string) (watched, error) {
	path, err := resolvePath(dbPath)
	if err != nil {
		return watched{}, err
	}
	w := watched{path: path, names: map[fileID]string{}, home: newOwnHome(path)}
	w.home.real = func(path string) string {
		if real, err := resolvePath(path); err == nil {
			return real
		}
		return path
	}
	for _, suffix := range append([]string{""}, sidecars...) {
		if id := identify(path + suffix); id.ino != 0 {
			w.names[id] = filepath.Base(path) + suffix
		}
	}
	w.dev = cmp.Or(identify(path).dev, identify(filepath.Dir(path)).dev)
	return w, nil
}

// resolvePath is the absolute path without symbolic links; the file itself need not exist.
func resolvePath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	return filepath.Join(dir, filepath.Base(path)), err
}

// process is what another process shows of itself.
type process struct {
	pid int
	// argv is empty when the command line cannot be read, name is the kernel's short name of the program.
	argv []string
	name string
	open []descriptor
	// err is why its descriptors could not be read.
	err error
}

// descriptor is one open file of a process: the name the kernel gives it and what it is.
type descriptor struct {
	target string
	id     fileID
}

// judgeHolder decides whether a process holds the watched store. It is pure.
//
// Implements S-142.
func judgeHolder(p process, w watched) (Holder, bool) {
	h := Holder{PID: p.pid, Command: commandSummary(p.argv)}
	for _, d := range p.open {
		if name, ok := w.holds(d); ok && !slices.Contains(h.Files, name) {
			h.Files = append(h.Files, name)
		}
	}
	slices.Sort(h.Files)
	if p.err != nil && looksLikeHermes(p) && judgeArgv(p.argv, w.home) != otherHome {
		h.Uninspectable = p.err.Error()
	}
	return h, len(h.Files) > 0 || h.Uninspectable != ""
}

// holds says under which name a descriptor is one of the watched files.
func (w watched) holds(d descriptor) (string, bool) {
	if name, ok := w.names[d.id]; ok {
		return name, true
	}
	target, deleted := strings.CutSuffix(d.target, deletedMark)
	if !deleted || d.id.dev != w.dev {
		return "", false
	}
	for _, suffix := range append([]string{""}, sidecars...) {
		if target == w.path+suffix {
			return filepath.Base(d.target), true
		}
	}
	return "", false
}

// commandSummary is a command line for people: the program's base name and the arguments, white space collapsed, at
// most 80 characters. Empty when argv is.
//
// Implements S-119.
func commandSummary(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	words := append([]string{filepath.Base(argv[0])}, argv[1:]...)
	text := []rune(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	if len(text) > 80 {
		text = append(text[:79], '…')
	}
	return string(text)
}

// describeProcess is `PID 7 (hermes gateway run)`.
//
// Implements S-119.
func describeProcess(pid int, command string) string {
	if command == "" {
		command = "command line unavailable"
	}
	return fmt.Sprintf("PID %d (%s)", pid, command)
}
