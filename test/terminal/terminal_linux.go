package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// patience bounds every wait.
const patience = 30 * time.Second

// Terminal is one terminal. Its methods are for the goroutine of the test.
type Terminal struct {
	t testing.TB
	// Program is the end that a program reads and writes.
	Program *os.File
	keys    *os.File

	mu       sync.Mutex
	emulator *vt.Emulator
	modes    map[int]bool
	raw      strings.Builder
	news     chan struct{}
}

// New opens a terminal of width columns and height lines; it is closed at the end of the test.
func New(t testing.TB, width, height int) *Terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	must(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	must(t, err)
	x := &Terminal{t: t, Program: program, keys: keys, emulator: vt.NewEmulator(width, height), modes: map[int]bool{}, news: make(chan struct{}, 1)}
	x.emulator.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { x.modes[m.Mode()] = true },
		DisableMode: func(m ansi.Mode) { x.modes[m.Mode()] = false },
	})
	x.setSize(width, height)
	var done sync.WaitGroup
	done.Go(x.show)
	done.Go(func() { _, _ = io.Copy(keys, x.emulator) }) // answers of the terminal, to the program
	t.Cleanup(func() {
		_ = program.Close() // ends the reads of the other end
		// The emulator's end of the answers closes without its lock: a write of an answer may be what holds it.
		_ = x.emulator.InputPipe().(io.Closer).Close()
		done.Wait()
		_ = keys.Close()
	})
	return x
}

// show gives what the program writes to the emulator.
func (x *Terminal) show() {
	buf := make([]byte, 8192)
	for {
		n, err := x.keys.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.raw.Write(buf[:n])
		_, _ = x.emulator.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.news <- struct{}{}:
		default:
		}
	}
}

// Press types keys, as the bytes that a terminal sends for them.
func (x *Terminal) Press(keys string) {
	x.t.Helper()
	_, err := io.WriteString(x.keys, keys)
	must(x.t, err)
}

// Resize changes the size of the window.
func (x *Terminal) Resize(width, height int) {
	x.mu.Lock()
	x.emulator.Resize(width, height)
	x.mu.Unlock()
	x.setSize(width, height)
}

func (x *Terminal) setSize(width, height int) {
	must(x.t, unix.IoctlSetWinsize(int(x.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}))
}

// Await waits until a text is on the screen or in the scrollback.
func (x *Terminal) Await(text string) {
	x.t.Helper()
	x.Until(fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(x.Text(), text) })
}

// Until waits until a condition on what is shown holds.
func (x *Terminal) Until(what string, holds func() bool) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-x.news:
		case <-ctx.Done():
			x.t.Fatalf("waited for %s in vain; the terminal shows\n%s", what, x.Text())
		}
	}
}

// Text is the scrollback and the screen, without spaces at the ends of lines and without empty lines at the end.
func (x *Terminal) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lines []string
	for y := range x.emulator.ScrollbackLen() {
		lines = append(lines, x.line(y, x.emulator.ScrollbackCellAt))
	}
	for y := range x.emulator.Height() {
		lines = append(lines, x.line(y, x.emulator.CellAt))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (x *Terminal) line(y int, at func(x, y int) *uv.Cell) string {
	var b strings.Builder
	for column := 0; column < x.emulator.Width(); {
		cell := at(column, y)
		if cell == nil || cell.Width == 0 {
			b.WriteByte(' ')
			column++
			continue
		}
		b.WriteString(cell.Content)
		column += cell.Width
	}
	return strings.TrimRight(b.String(), " ")
}

// Drain waits until the terminal has taken all that was written to it, by a program that is over.
func (x *Terminal) Drain() {
	x.t.Helper()
	const mark = "\x1b]7777;drained\x07" // a command that no terminal knows
	before := strings.Count(x.Raw(), mark)
	_, err := io.WriteString(x.Program, mark)
	must(x.t, err)
	x.Until("the end of what was written", func() bool { return strings.Count(x.Raw(), mark) > before })
}

// Raw is everything the program wrote.
func (x *Terminal) Raw() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

// Settings are those of the kernel: raw or not, echo and the like.
func (x *Terminal) Settings() string {
	x.t.Helper()
	s, err := unix.IoctlGetTermios(int(x.keys.Fd()), unix.TCGETS)
	must(x.t, err)
	return fmt.Sprintf("%+v", *s)
}

// CheckRestored says what a program left behind: settings of the kernel other than before, a hidden cursor, the alternate
// screen, or a mode that changes what keys and pastes send.
func (x *Terminal) CheckRestored(before string) error {
	var wrong []error
	if after := x.Settings(); after != before {
		wrong = append(wrong, fmt.Errorf("settings are %s, were %s", after, before))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.emulator.IsAltScreen() {
		wrong = append(wrong, errors.New("it shows the alternate screen"))
	}
	for mode, name := range map[int]string{1000: "mouse", 1002: "mouse", 1003: "mouse", 1004: "focus", 2004: "bracketed paste", 2026: "synchronized output"} {
		if x.modes[mode] {
			wrong = append(wrong, fmt.Errorf("mode %d, %s, is on", mode, name))
		}
	}
	if shown, set := x.modes[25]; set && !shown {
		wrong = append(wrong, errors.New("the cursor is hidden"))
	}
	raw := x.raw.String()
	for _, pair := range [][2]string{{"\x1b[>4;2m", "\x1b[>4m"}, {"\x1b[>1u", "\x1b[<1u"}} {
		if strings.LastIndex(raw, pair[0]) > strings.LastIndex(raw, pair[1]) {
			wrong = append(wrong, fmt.Errorf("%q was not taken back by %q", pair[0], pair[1]))
		}
	}
	return errors.Join(wrong...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
