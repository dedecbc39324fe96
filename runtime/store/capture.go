package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// captureMark is in the name of every capture's directory, after the database's.
	captureMark = ".retired-wal-"
	// captureMainLimit is the largest database that a capture copies; of a larger one it keeps the header.
	captureMainLimit = 512 << 20
	// headerBytes is the length of SQLite's file header.
	headerBytes = 100

	captureNote = "Read from the descriptors of the process that was cut off from these files, while others may still have " +
		"been writing. Work on a copy: put state.db and state.db-wal of this directory side by side and open them with SQLite."
)

// errShortRead means that a file ended before the size it had when its capture began.
var errShortRead = errors.New("file became shorter while it was read")

// manifest is manifest.json of a capture.
type manifest struct {
	Version    int    `json:"version"`
	Database   string `json:"database"`
	Trigger    string `json:"trigger"`
	PID        int    `json:"pid"`
	CapturedAt string `json:"captured_at"`
	// WAL, SHM and Main are null when they were not ours to read.
	WAL  *capturedFile `json:"wal"`
	SHM  *capturedFile `json:"shm"`
	Main *capturedFile `json:"main"`
	// PathGeneration is what the store's paths named at that moment, by suffix; null for nothing.
	PathGeneration map[string]*fileIdentity `json:"path_generation_at_capture"`
	Note           string                   `json:"note"`
}

type capturedFile struct {
	File     string       `json:"file"`
	Identity fileIdentity `json:"identity"`
	Bytes    int64        `json:"bytes"`
	SHA256   string       `json:"sha256"`
	// HeaderOnly is true for a database that was too large to copy.
	HeaderOnly bool `json:"header_only,omitempty"`
}

type fileIdentity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

func identityOf(id fileID) fileIdentity { return fileIdentity{Device: id.dev, Inode: id.ino} }

// capture copies what a handle has open and its paths no longer name. It reads through SQLite's own descriptors and
// never opens or closes one: that would drop the process's locks (S-133).
type capture struct {
	path    string
	opened  map[string]fileID // what the handle has open, by suffix
	trigger Bucket
	now     time.Time
	// descriptors are this process's descriptors of each file, by identity.
	descriptors map[fileID][]int
	// read is pread, stat is what a descriptor has open and how long it is.
	read func(fd int, p []byte, offset int64) (int, error)
	stat func(fd int) (fileID, int64, error)
}

// run writes the capture and returns its directory. On any error nothing is left behind.
//
// Implements S-132.
func (c capture) run() (dir string, err error) {
	needed := "-wal"
	if c.trigger == BucketReplaced {
		needed = "" // a rollback journal has no log to lose
	}
	if len(c.descriptors[c.opened[needed]]) == 0 {
		return "", fmt.Errorf("capture: this process has no descriptor of state.db%s", needed)
	}
	final, err := c.name()
	if err != nil {
		return "", err
	}
	staging := final + ".partial"
	if err := os.Mkdir(staging, 0o700); err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(staging))
		}
	}()
	m := manifest{
		Version: 1, Database: c.path, Trigger: string(c.trigger), PID: os.Getpid(), CapturedAt: c.now.UTC().Format(time.RFC3339),
		PathGeneration: map[string]*fileIdentity{}, Note: captureNote,
	}
	for suffix, into := range map[string]**capturedFile{"-wal": &m.WAL, "-shm": &m.SHM, "": &m.Main} {
		m.PathGeneration[suffix] = nil
		if now := identify(c.path + suffix); now.ino != 0 {
			id := identityOf(now)
			m.PathGeneration[suffix] = &id
		}
		if *into, err = c.copyFile(staging, suffix); err != nil {
			return "", fmt.Errorf("capture state.db%s: %w", suffix, err)
		}
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	// The manifest comes last: a directory that has one is whole.
	if err := writeSynced(filepath.Join(staging, "manifest.json"), append(text, '\n')); err != nil {
		return "", err
	}
	if err := syncDir(staging); err != nil {
		return "", err
	}
	if err := os.Rename(staging, final); err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	return final, syncDir(filepath.Dir(final))
}

// name is the first free one of its second.
func (c capture) name() (string, error) {
	base := fmt.Sprintf("%s%s%s-%d", c.path, captureMark, c.now.UTC().Format("20060102-150405"), os.Getpid())
	for n := 1; n < 1000; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := os.Lstat(name)
		_, staged := os.Lstat(name + ".partial")
		if errors.Is(err, fs.ErrNotExist) && errors.Is(staged, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", fmt.Errorf("capture: %s exists a thousand times: move the old ones away", base)
}

// copyFile copies one file of the handle into dir; nil when this process does not have it open.
func (c capture) copyFile(dir, suffix string) (*capturedFile, error) {
	id := c.opened[suffix]
	descriptors := c.descriptors[id]
	if len(descriptors) == 0 {
		return nil, nil
	}
	var err error
	for _, fd := range descriptors { // another one when a reader's was closed meanwhile
		var copied *capturedFile
		if copied, err = c.copyDescriptor(dir, suffix, id, fd); err == nil || errors.Is(err, errShortRead) {
			return copied, err
		}
	}
	return nil, err
}

func (c capture) copyDescriptor(dir, suffix string, id fileID, fd int) (_ *capturedFile, err error) {
	is, size, err := c.stat(fd)
	if err != nil || is != id {
		return nil, errors.Join(err, errors.New("its descriptor was closed"))
	}
	done := &capturedFile{File: "state.db" + suffix, Identity: identityOf(id), Bytes: size}
	if suffix == "" && size > captureMainLimit {
		done.File, done.Bytes, done.HeaderOnly = "state.db.header", headerBytes, true
	}
	out, err := os.OpenFile(filepath.Join(dir, done.File), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	buffer := make([]byte, 256<<10)
	for offset := int64(0); offset < done.Bytes; {
		part := buffer[:min(int64(len(buffer)), done.Bytes-offset)]
		n, err := c.read(fd, part, offset)
		if err != nil {
			return nil, err
		}
		// Looked at after reading: what was read came from this file and not from one that got the same number.
		if is, _, err := c.stat(fd); err != nil || is != id {
			return nil, errors.Join(err, errors.New("its descriptor was closed"))
		}
		if n == 0 {
			return nil, fmt.Errorf("%w: %d of %d bytes", errShortRead, offset, done.Bytes)
		}
		_, _ = sum.Write(part[:n]) // a hash takes everything
		if _, err := out.Write(part[:n]); err != nil {
			return nil, err
		}
		offset += int64(n)
	}
	done.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return done, out.Sync()
}

func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Captures lists the directories with captured generations beside a database, oldest first.
func Captures(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, entry := range entries {
		dir := filepath.Join(filepath.Dir(path), entry.Name())
		if strings.HasPrefix(dir, path+captureMark) && filepath.Ext(dir) != ".partial" && entry.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
