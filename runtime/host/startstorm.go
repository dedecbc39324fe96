package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// StartLogFileName is the list of recent start times inside a home, one epoch in seconds a line.
const StartLogFileName = "gateway-starts.log"

// StormLimit says how many starts within a window are ordinary. A MaxStarts below 1 switches the breaker off.
type StormLimit struct {
	MaxStarts int
	Window    time.Duration
}

const (
	stormUnit       = 5 * time.Second
	stormMaxDelay   = 300 * time.Second
	stormMaxDoubles = 6
	stormMinLines   = 40
)

// StormDelay returns how long a start must wait, given the times of recent starts including itself.
// Implements G-215.
func StormDelay(starts []time.Time, now time.Time, limit StormLimit) time.Duration {
	if limit.MaxStarts < 1 || limit.Window <= 0 {
		return 0
	}
	recent := 0
	for _, start := range starts {
		// A time in the future is a clock that was set back: it says nothing about how fast starts follow each other.
		if age := now.Sub(start); age >= 0 && age <= limit.Window {
			recent++
		}
	}
	excess := recent - limit.MaxStarts
	if excess <= 0 {
		return 0
	}
	return min(stormMaxDelay, stormUnit<<min(excess, stormMaxDoubles))
}

// RecordStart appends this start to the home's log, keeps the log short and returns how long to wait. It is never fatal:
// when the log cannot be read or written the delay is computed from what is known, and the error is for the log.
// Implements G-215.
func RecordStart(home string, now time.Time, limit StormLimit) (time.Duration, error) {
	path := filepath.Join(home, StartLogFileName)
	data, readErr := readSmallFile(path)
	if errors.Is(readErr, fs.ErrNotExist) || errors.Is(readErr, errFileTooLarge) {
		// Nothing to go by: start afresh, which also cures a log that grew by damage.
		readErr = nil
	}
	starts := append(parseStartLog(data), now)
	keep := max(4*limit.MaxStarts, stormMinLines)
	if len(starts) > keep {
		starts = starts[len(starts)-keep:]
	}
	delay := StormDelay(starts, now, limit)
	if readErr != nil {
		// Writing now would replace a log that could only not be read this once.
		return delay, fmt.Errorf("start log: %w", readErr)
	}
	if err := writePrivate(path, formatStartLog(starts)); err != nil {
		return delay, fmt.Errorf("start log: %w", err)
	}
	return delay, nil
}

// maxEpochSeconds is the year 9999: what lies beyond is damage, and would overflow a time.
const maxEpochSeconds = 253402300799

// parseStartLog reads the times of a start log and skips lines that are none.
func parseStartLog(data []byte) []time.Time {
	var starts []time.Time
	for line := range bytes.Lines(data) {
		epoch, err := strconv.ParseFloat(strings.TrimSpace(string(line)), 64)
		if err != nil || math.IsNaN(epoch) || epoch <= 0 || epoch > maxEpochSeconds {
			continue
		}
		whole, fraction := math.Modf(epoch)
		starts = append(starts, time.Unix(int64(whole), int64(fraction*1e9)))
	}
	return starts
}

func formatStartLog(starts []time.Time) []byte {
	var out bytes.Buffer
	for _, start := range starts {
		fmt.Fprintf(&out, "%d.%06d\n", start.Unix(), start.Nanosecond()/1000)
	}
	return out.Bytes()
}
