package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// keptRuns is how many run logs stay, the current one included.
	keptRuns = 5
	// maxRunLog bounds one run's log in bytes; above it the newest keptLogTail bytes are kept.
	maxRunLog   = 16 << 20
	keptLogTail = 1 << 20
	// tailBytes of a log are read for a message.
	tailBytes = 64 << 10
	// maxLine bounds one quoted line in runes, maxQuoted their number.
	maxLine   = 300
	maxQuoted = 3
)

func runLogPath(dir, runID string) string { return filepath.Join(dir, "run-"+runID+".log") }

// openRunLog opens the log of a new run for its stdout and stderr. It is a
// file, not a pipe: what the gateway writes survives this process.
// Implements guarantee G7.
func openRunLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the log directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the run log: %w", err)
	}
	return f, nil
}

// pruneRunLogs removes all but the last keptRuns of the logs, oldest first, and
// returns those that stay. Only logs that are named here are touched: a log
// directory may be shared.
func pruneRunLogs(logs []string) []string {
	excess := max(len(logs)-keptRuns, 0)
	for _, path := range logs[:excess] {
		_ = os.Remove(path)
		_ = os.Remove(path + ".old")
	}
	return slices.Clone(logs[excess:])
}

// findRunLogs lists the run logs of a directory that is the engine's own, oldest first.
func findRunLogs(dir string) []string {
	logs, err := filepath.Glob(filepath.Join(dir, "run-*.log"))
	if err != nil {
		return nil
	}
	age := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortStableFunc(logs, func(a, b string) int { return cmp.Compare(age(a), age(b)) })
	return logs
}

// boundRunLog keeps a growing log below its limit: its newest part moves to a
// file beside it and the log starts again. The gateway writes in append mode, so
// it goes on at the start of the emptied file; lines written in the instant
// between may be lost, which a bounded log is worth.
func boundRunLog(path string, limit, keep int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return nil
	}
	tail, err := readTail(path, keep)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".old", tail, 0o600); err != nil {
		return fmt.Errorf("keep the end of a run log: %w", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		return fmt.Errorf("bound a run log: %w", err)
	}
	return nil
}

// readTail reads at most the last n bytes of a file.
func readTail(path string, n int64) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a run log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read a run log: %w", err)
	}
	from := max(info.Size()-n, 0)
	data, err = io.ReadAll(io.NewSectionReader(f, from, n))
	if err != nil {
		return nil, fmt.Errorf("read a run log: %w", err)
	}
	return data, nil
}

// lastWords is what a log's end tells about the end of its run.
type lastWords struct {
	// Quote is the cause in at most maxQuoted short lines joined by " | ", "" for an empty log.
	Quote string
	// Refusal is set when the last line is one.
	Refusal *refusal
	// OutOfMemory: the runtime wrote that it could not allocate.
	OutOfMemory bool
}

// readLastWords reads the end of a run's log; a log that cannot be read tells nothing.
func readLastWords(path string) lastWords {
	data, err := readTail(path, tailBytes)
	if err != nil {
		return lastWords{}
	}
	return parseLastWords(data)
}

// parseLastWords picks the lines that name the cause: the head of the last panic
// or fatal error, since what follows it is a stack, else the last lines.
// Repeated lines count once.
func parseLastWords(data []byte) lastWords {
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = cleanLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return lastWords{}
	}
	var words lastWords
	if r, ok := parseRefusal(lines[len(lines)-1]); ok {
		words.Refusal = &r
	}
	from := max(len(lines)-maxQuoted, 0)
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			from = i
		}
		if strings.HasPrefix(line, "fatal error: ") && strings.Contains(line, "out of memory") ||
			strings.HasPrefix(line, "fatal error: ") && strings.Contains(line, "cannot allocate memory") {
			words.OutOfMemory = true
		}
	}
	words.Quote = quote(lines[from:])
	return words
}

func quote(lines []string) string {
	var kept []string
	for _, line := range lines {
		if strings.HasPrefix(line, "goroutine ") || len(kept) == maxQuoted {
			break
		}
		if !slices.Contains(kept, line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " | ")
}

// cleanLine makes a line of a log fit for a message: valid text, no control characters, bounded.
func cleanLine(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), !unicode.IsPrint(r):
			return -1
		}
		return r
	}, line)
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > maxLine {
		line = string(runes[:maxLine]) + "…"
	}
	return line
}
