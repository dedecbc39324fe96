package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"
)

// maxSpillBytes bounds one spill file, so that an endless command ends at its
// timeout and not with a full disk.
const maxSpillBytes = 1 << 30

// output collects what a command writes in bounded memory: everything up to
// limit, after that the first and the last half of limit, while the complete
// text goes to a file. It is not safe for concurrent use.
type output struct {
	limit   int
	create  func() (*os.File, error)
	maxFile int64

	head, tail []byte
	// at is where the oldest byte of the full ring tail is.
	at    int
	total int64

	file     *os.File
	written  int64
	fileErr  error
	complete bool
}

func newOutput(limit int, create func() (*os.File, error)) *output {
	return &output{limit: limit, create: create, maxFile: maxSpillBytes, complete: true}
}

// Write never fails: a spill that cannot be written costs the spill, not the
// command.
func (o *output) Write(p []byte) (int, error) {
	if o.file == nil && o.fileErr == nil && o.total+int64(len(p)) > int64(o.limit) {
		o.openSpill()
	}
	o.spill(p)
	o.total += int64(len(p))
	o.keep(p)
	return len(p), nil
}

func (o *output) openSpill() {
	if o.file, o.fileErr = o.create(); o.fileErr != nil {
		return
	}
	// Nothing has been dropped yet, so head and tail are everything so far.
	o.spill(o.head)
	o.spill(o.lastBytes())
}

func (o *output) spill(p []byte) {
	if o.file == nil || !o.complete {
		return
	}
	if room := o.maxFile - o.written; int64(len(p)) > room {
		p, o.complete = p[:room], false
	}
	n, err := o.file.Write(p)
	o.written += int64(n)
	if err != nil {
		o.fileErr, o.complete = err, false
	}
}

// keep puts p into head until it is full, then into the ring tail.
func (o *output) keep(p []byte) {
	half := o.limit / 2
	if room := half - len(o.head); room > 0 {
		n := min(room, len(p))
		o.head = append(o.head, p[:n]...)
		p = p[n:]
	}
	size := o.limit - half
	if over := len(p) - size; over > 0 {
		p = p[over:]
	}
	if room := size - len(o.tail); room > 0 {
		n := min(room, len(p))
		o.tail = append(o.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(o.tail[o.at:], p)
		p = p[n:]
		o.at = (o.at + n) % size
	}
}

func (o *output) lastBytes() []byte {
	if o.at == 0 {
		return o.tail
	}
	return append(append(make([]byte, 0, len(o.tail)), o.tail[o.at:]...), o.tail[:o.at]...)
}

// close ends the spill file.
func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	return errors.Join(o.fileErr, o.file.Close())
}

// render is the text for the model. The cut falls between characters, and its
// place says how much is missing and where the rest is.
func (o *output) render() string {
	tail := o.lastBytes()
	if o.total <= int64(o.limit) {
		return readable(slices.Concat(o.head, tail))
	}
	where := "the complete output could not be kept"
	switch {
	case o.file != nil && o.complete:
		where = "complete output: " + o.file.Name()
	case o.file != nil:
		where = fmt.Sprintf("the first %d bytes: %s", o.written, o.file.Name())
	}
	head := trimTail(o.head)
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d bytes left out; %s …]\n%s", readable(head),
		o.total-int64(len(head)+len(tail)), where, readable(tail))
}

// trimTail drops a character that was cut in the middle.
func trimTail(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

var _ io.Writer = (*output)(nil)

// bounded is a text as far as it may go to the model; what is longer is kept in a spill file that the text names.
func (s *Set) bounded(content string) string {
	if len(content) <= s.outputLimit() {
		return readable([]byte(content))
	}
	id := rand.Text()
	out := newOutput(s.outputLimit(), func() (*os.File, error) { return s.createSpill(id) })
	_, _ = out.Write([]byte(content)) // never fails
	if err := out.close(); err != nil {
		s.config.Log.Error(err, "a complete result could not be kept")
	}
	return out.render()
}
