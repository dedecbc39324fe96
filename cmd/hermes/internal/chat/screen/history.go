package screen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const (
	// maxHistory is how many entries are kept.
	maxHistory = 1000
	// maxEntry bounds one entry, in bytes: a pasted file is no entry.
	maxEntry = 16 << 10
)

// history is what was said before, on disk and as the arrow keys reach it. A history that cannot be read or written is one of
// this conversation only: nobody's words are worth not talking.
type history struct {
	path    string // "" is none
	entries []string
	at      int    // which is shown; len(entries) is what is being typed
	draft   string // what is being typed
}

// openHistory reads a file of JSON strings, one a line.
func openHistory(path string) *history {
	h := &history{path: path}
	if file, err := os.Open(path); path != "" && err == nil {
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 8*maxEntry)
		for lines.Scan() {
			var entry string
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry != "" {
				h.remember(entry)
			}
		}
	}
	h.at = len(h.entries)
	return h
}

func (h *history) remember(entry string) {
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	if over := len(h.entries) - maxHistory; over > 0 {
		h.entries = h.entries[over:]
	}
}

// add takes what was said. As in a shell, a space before it keeps it out.
func (h *history) add(entry string) {
	if !strings.HasPrefix(entry, " ") && len(entry) <= maxEntry {
		h.remember(entry)
		if h.path != "" {
			_ = h.store(entry)
		}
	}
	h.at, h.draft = len(h.entries), ""
}

// store appends the entry, and shortens the file when it holds twice what is kept. Another window may do the same.
func (h *history) store(entry string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("make the directory of the history: %w", err)
	}
	lock := flock.New(h.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the history: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode an entry: %w", err)
	}
	before, err := os.ReadFile(h.path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the history: %w", err)
	}
	if lines := strings.SplitAfter(string(before), "\n"); len(lines) > 2*maxHistory {
		kept := strings.Join(lines[len(lines)-maxHistory:], "")
		if err := renameio.WriteFile(h.path, append([]byte(kept), append(line, '\n')...), 0o600, renameio.IgnoreUmask()); err != nil {
			return fmt.Errorf("shorten the history: %w", err)
		}
		return nil
	}
	file, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// older is the entry before the one shown, which is text now.
func (h *history) older(text string) string {
	if h.at == 0 {
		return text
	}
	if h.at == len(h.entries) {
		h.draft = text
	}
	h.at--
	return h.entries[h.at]
}

// newer is the entry after it, and at the end what was being typed.
func (h *history) newer(text string) string {
	switch {
	case h.at >= len(h.entries):
		return text
	case h.at == len(h.entries)-1:
		h.at++
		return h.draft
	}
	h.at++
	return h.entries[h.at]
}
