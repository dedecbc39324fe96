package cron

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	heartbeatFile   = "ticker_heartbeat"
	successFile     = "ticker_last_success"
	tickErrorFile   = "ticker_last_error"
	catchUpFile     = "catch_up_occurrences"
	maxMarkerLength = 2000
)

// Markers are what a profile's ticker last left behind. A zero time is "none".
type Markers struct {
	Heartbeat, Success, ErrorAt time.Time
	// Error is the text of the newest failed tick, empty when the newest tick was clean.
	Error string
	// CatchUps counts the missed occurrences that were caught up.
	CatchUps int
}

func epoch(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', 6, 64) }

func parseEpoch(text string) time.Time {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(seconds) || seconds <= 0 || seconds > 1<<38 {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6))
}

// mark records the end of a cycle for this profile: it was visited, and its tick went well or failed.
//
// Implements C-180.
func (s *Store) mark(failure error) error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil // a profile without jobs has no ticker to watch
	}
	now := epoch(s.now())
	err := s.writeMarker(heartbeatFile, now)
	if failure != nil {
		text := failure.Error()
		return errors.Join(err, s.writeMarker(tickErrorFile, now+"\n"+text[:min(len(text), maxMarkerLength)]))
	}
	if gone := os.Remove(s.inDir(tickErrorFile)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, s.writeMarker(successFile, now))
}

// heartbeat records that this profile was visited.
func (s *Store) heartbeat() error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.writeMarker(heartbeatFile, epoch(s.now()))
}

// writeMarker replaces a marker without flushing it: it is rewritten every cycle, and after a power cut a stale one says
// the truth.
func (s *Store) writeMarker(name, content string) error {
	temporary := s.inDir("." + name + ".tmp")
	if err := os.WriteFile(temporary, []byte(content), fileMode); err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	if err := os.Rename(temporary, s.inDir(name)); err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	return nil
}

func (s *Store) readMarker(name string) string {
	content, err := os.ReadFile(s.inDir(name))
	if err != nil {
		return ""
	}
	return string(content)
}

// Markers returns what the ticker left behind. What cannot be read is "none".
func (s *Store) Markers() Markers {
	at, text, _ := strings.Cut(s.readMarker(tickErrorFile), "\n")
	count, _ := strconv.Atoi(strings.TrimSpace(s.readMarker(catchUpFile)))
	return Markers{Heartbeat: parseEpoch(s.readMarker(heartbeatFile)), Success: parseEpoch(s.readMarker(successFile)),
		ErrorAt: parseEpoch(at), Error: strings.TrimSpace(text), CatchUps: count}
}

// countCatchUps adds to the counter of missed occurrences that were caught up. The tick's lock keeps others away.
func (s *Store) countCatchUps(n int) error {
	if n == 0 {
		return nil
	}
	return s.writeMarker(catchUpFile, strconv.Itoa(s.Markers().CatchUps+n))
}
