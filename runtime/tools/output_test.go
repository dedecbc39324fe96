package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func testOutput(t testing.TB, limit int) (*output, string) {
	path := filepath.Join(t.TempDir(), "spill")
	return newOutput(limit, func() (*os.File, error) { return os.Create(path) }), path
}

// Whatever the pieces, the head, the tail and the spill file are those of the
// whole.
func TestOutputKeepsHeadAndTail(t *testing.T) {
	for _, limit := range []int{1, 2, 9, 10, 64} {
		for _, total := range []int{0, 1, limit - 1, limit, limit + 1, 3 * limit, 300} {
			for _, piece := range []int{1, 3, limit, 7 * limit} {
				all := make([]byte, total)
				for i := range all {
					all[i] = byte('a' + i%26)
				}
				o, path := testOutput(t, limit)
				for rest := all; len(rest) > 0; {
					n := min(piece, len(rest))
					_, _ = o.Write(rest[:n])
					rest = rest[n:]
				}
				if err := o.close(); err != nil {
					t.Fatal(err)
				}
				want := string(all)
				if total > limit {
					half := limit / 2
					want = fmt.Sprintf("%s\n[… %d bytes left out; complete output: %s …]\n%s", all[:half], total-limit, path, all[total-(limit-half):])
					if got := readBack(t, path); got != string(all) {
						t.Errorf("limit %d, %d bytes by %d: spilled %q", limit, total, piece, got)
					}
				} else if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("limit %d, %d bytes: spilled without need", limit, total)
				}
				if got := o.render(); got != want {
					t.Errorf("limit %d, %d bytes by %d = %q, want %q", limit, total, piece, got, want)
				}
			}
		}
	}
}

func TestOutputCutsBetweenCharacters(t *testing.T) {
	for limit := 8; limit < 16; limit++ {
		o, _ := testOutput(t, limit)
		_, _ = o.Write([]byte(strings.Repeat("日本", 20)))
		if got := o.render(); strings.Contains(got, "\uFFFD") {
			t.Errorf("limit %d: %q", limit, got)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOutputSpillIsBoundedAndMayFail(t *testing.T) {
	o, path := testOutput(t, 10)
	o.maxFile = 25
	for range 10 {
		_, _ = o.Write([]byte("0123456789"))
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	if got := readBack(t, path); len(got) != 25 {
		t.Errorf("spilled %d bytes", len(got))
	}
	if got := o.render(); !strings.Contains(got, "the first 25 bytes: "+path) {
		t.Errorf("render = %q", got)
	}
	o = newOutput(4, func() (*os.File, error) { return nil, errors.New("disk full") })
	if n, err := o.Write([]byte("0123456789")); n != 10 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if got := o.render(); got != "01\n[… 6 bytes left out; the complete output could not be kept …]\n89" {
		t.Errorf("render = %q", got)
	}
}

// Four gigabytes pass through in constant memory.
func TestOutputOfGigabytesKeepsMemoryFlat(t *testing.T) {
	o, _ := testOutput(t, defaultOutputLimit)
	o.maxFile = 1 << 20
	piece := make([]byte, 1<<20)
	var before, after runtime.MemStats
	_, _ = o.Write(piece)
	runtime.ReadMemStats(&before)
	for range 4 << 10 {
		_, _ = o.Write(piece)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("allocated %d bytes for 4 GiB", grown)
	}
	if o.total != (4<<10+1)<<20 {
		t.Errorf("counted %d", o.total)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("hello"), 3, 2)
	f.Add([]byte("日本語"), 5, 1)
	f.Fuzz(func(t *testing.T, all []byte, limit, piece int) {
		if limit < 1 || limit > 1000 || piece < 1 {
			return
		}
		o := newOutput(limit, func() (*os.File, error) { return nil, errors.New("none") })
		for rest := all; len(rest) > 0; {
			n := min(piece, len(rest))
			_, _ = o.Write(rest[:n])
			rest = rest[n:]
		}
		if len(o.head)+len(o.tail) > limit {
			t.Errorf("kept %d bytes of a limit of %d", len(o.head)+len(o.tail), limit)
		}
		if !strings.HasSuffix(string(all), string(o.lastBytes())) || !strings.HasPrefix(string(all), string(o.head)) {
			t.Errorf("head %q and tail %q of %q", o.head, o.lastBytes(), all)
		}
		o.render()
	})
}
