package screen

import (
	"bytes"
	"io"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// framed: the program has drawn its first frame. Until then it takes the live region for as high as the screen, and
// what is printed would be drawn over.
type framed struct{}

// firstFrame tells when the first frame was drawn, by the mode that every one of them begins with.
type firstFrame struct {
	*os.File
	once sync.Once
	tell func()
}

// framesOf watches what is written to a terminal. What is no file has no size, so there is nothing to wait for.
func framesOf(out io.Writer, send func(tea.Msg)) io.Writer {
	file, ok := out.(*os.File)
	if !ok {
		go send(framed{})
		return out
	}
	return &firstFrame{File: file, tell: func() { go send(framed{}) }} // the writer holds what sending may wait for
}

var pasteMode = []byte("\x1b[?2004h")

// Write implements io.Writer.
func (f *firstFrame) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if bytes.Contains(p, pasteMode) {
		f.once.Do(f.tell)
	}
	return n, err
}
