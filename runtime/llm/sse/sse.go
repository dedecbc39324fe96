// Package sse reads server-sent events: what model servers stream, and what a gateway streams to its clients. It
// owns the framing and nothing of the content, holds one event at a time, and bounds it.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLarge is a line or event over the decoder's limit.
var ErrTooLarge = errors.New("event larger than the limit")

// Decoder reads a text/event-stream. It holds at most one event and refuses one larger than limit bytes.
type Decoder struct {
	r     *bufio.Reader
	limit int
	data  []byte
}

// Event is one event of a stream.
type Event struct {
	// Name is what its event field says, "" without one.
	Name string
	// Data is valid until the next call. It is empty for a keepalive.
	Data []byte
}

// NewDecoder reads r; limit bounds one event, in bytes.
func NewDecoder(r io.Reader, limit int) *Decoder {
	return &Decoder{r: bufio.NewReaderSize(r, 4096), limit: limit}
}

// Next returns the next event. Empty data with a nil error is a keepalive: a comment, an event without data, or an
// empty data frame (L9). io.EOF is a clean end between events; an event cut off by the end is io.ErrUnexpectedEOF,
// unless its line was complete.
func (d *Decoder) Next() (Event, error) {
	d.data = d.data[:0]
	name, fields := "", 0
	for {
		line, err := d.line()
		if err != nil {
			if errors.Is(err, io.EOF) && fields > 0 && len(line) == 0 {
				return Event{Name: name, Data: d.data}, nil // the last event lacks its blank line only
			}
			if errors.Is(err, io.EOF) && len(line) > 0 {
				return Event{}, io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if len(line) == 0 {
			return Event{Name: name, Data: d.data}, nil
		}
		if line[0] == ':' {
			if fields == 0 && name == "" {
				return Event{}, nil // a comment alone: do not wait for the blank line to count it as a sign of life
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		if string(field) == "event" {
			name = string(value)
		}
		if string(field) != "data" {
			continue
		}
		if len(d.data)+len(value) > d.limit {
			return Event{}, ErrTooLarge
		}
		if fields > 0 {
			d.data = append(d.data, '\n')
		}
		d.data = append(d.data, value...)
		fields++
	}
}

// line reads one line without its end (LF, CR LF). With an error it returns what it had read of the line.
func (d *Decoder) line() ([]byte, error) {
	part, err := d.r.ReadSlice('\n')
	if err == nil {
		return trimEOL(part), nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, err
	}
	long := append([]byte(nil), part...)
	for {
		part, err = d.r.ReadSlice('\n')
		if len(long)+len(part) > d.limit {
			return nil, ErrTooLarge
		}
		long = append(long, part...)
		if err == nil {
			return trimEOL(long), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return long, err
		}
	}
}

func trimEOL(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'})
}
