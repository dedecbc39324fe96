package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func events(t *testing.T, r io.Reader, limit int) ([]string, error) {
	t.Helper()
	d := NewDecoder(r, limit)
	var out []string
	for range 1 << 16 {
		e, err := d.Next()
		if err != nil {
			return out, err
		}
		text := string(e.Data)
		if e.Name != "" {
			text = e.Name + "=" + text
		}
		out = append(out, text)
	}
	t.Fatal("the decoder does not end")
	return nil, nil
}

func TestSSE(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		err      error
	}{
		{"plain", "data: a\n\ndata: b\n\n", []string{"a", "b"}, io.EOF},
		{"carriage returns", "data: a\r\n\r\n", []string{"a"}, io.EOF},
		{"no space", "data:a\n\n", []string{"a"}, io.EOF},
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}, io.EOF},
		{"other fields", "event: x\nid: 1\ndata: a\nretry: 5\n\n", []string{"x=a"}, io.EOF},
		{"a name is one event's own", "event: x\ndata: a\n\ndata: b\n\n", []string{"x=a", "b"}, io.EOF},
		{"a comment inside", "event: x\n: c\ndata: a\n\n", []string{"x=a"}, io.EOF},
		{"L9 comment", ": ping\n\ndata: a\n\n", []string{"", "", "a"}, io.EOF},
		{"L9 empty data", "data:\n\ndata: \n\n", []string{"", ""}, io.EOF},
		{"last blank line missing", "data: a\n", []string{"a"}, io.EOF},
		{"cut in a line", "data: a\n\ndata: b", []string{"a"}, io.ErrUnexpectedEOF},
		{"too large a line", "data: " + strings.Repeat("x", 9000) + "\n\n", nil, ErrTooLarge},
		{"too large an event", strings.Repeat("data: "+strings.Repeat("x", 900)+"\n", 9), nil, ErrTooLarge},
		{"long line", "data: " + strings.Repeat("x", 7000) + "\n\n", []string{strings.Repeat("x", 7000)}, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := events(t, r, 8000)
				if !errors.Is(err, c.err) || strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
					t.Errorf("%s: %q %v, want %q %v", how, got, err, c.want, c.err)
				}
			}
		})
	}
}

// FuzzSSE: any bytes end in an error, no event passes the limit, and the way the bytes are cut changes nothing.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{"data: a\n\n", ": c\n\ndata:\n\n", "data: a\r\ndata: b\r\n\r\n", "data", "\n\n\n", "data: [DONE]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 256
		a, errA := events(t, bytes.NewReader(in), limit)
		b, errB := events(t, iotest.OneByteReader(bytes.NewReader(in)), limit)
		if strings.Join(a, "|") != strings.Join(b, "|") || len(a) != len(b) || !errors.Is(errA, errB) {
			t.Fatalf("%q %v, but byte by byte %q %v", a, errA, b, errB)
		}
		for _, e := range a {
			if len(e) > 2*limit+len(a)+1 { // a name and its data
				t.Fatalf("event of %d bytes", len(e))
			}
		}
	})
}
