package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errFrameTooLarge is a line or event over the decoder's limit.
var errFrameTooLarge = errors.New("event larger than the limit")

// sseDecoder reads a text/event-stream. It holds at most one event and refuses one larger than limit bytes.
type sseDecoder struct {
	r     *bufio.Reader
	limit int
	data  []byte
}

func newSSEDecoder(r io.Reader, limit int) *sseDecoder {
	return &sseDecoder{r: bufio.NewReaderSize(r, 4096), limit: limit}
}

// next returns the data of the next event; the slice is valid until the next call. An empty result with a nil error is
// a keepalive: a comment, an event without data, or an empty data frame (L9). io.EOF is a clean end between events;
// an event cut off by the end is io.ErrUnexpectedEOF, unless its line was complete.
func (d *sseDecoder) next() ([]byte, error) {
	d.data = d.data[:0]
	fields := 0
	for {
		line, err := d.line()
		if err != nil {
			if errors.Is(err, io.EOF) && fields > 0 && len(line) == 0 {
				return d.data, nil // the last event lacks its blank line only
			}
			if errors.Is(err, io.EOF) && len(line) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) == 0 {
			return d.data, nil
		}
		if line[0] == ':' {
			if fields == 0 {
				return nil, nil // a comment alone: do not wait for the blank line to count it as a sign of life
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		if string(name) != "data" {
			continue
		}
		value = bytes.TrimPrefix(value, []byte{' '})
		if len(d.data)+len(value) > d.limit {
			return nil, errFrameTooLarge
		}
		if fields > 0 {
			d.data = append(d.data, '\n')
		}
		d.data = append(d.data, value...)
		fields++
	}
}

// line reads one line without its end (LF, CR LF). With an error it returns what it had read of the line.
func (d *sseDecoder) line() ([]byte, error) {
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
			return nil, errFrameTooLarge
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
