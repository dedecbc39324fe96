package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// maxReadBytes is the largest file read_file looks into.
	maxReadBytes     = 64 << 20
	defaultReadLines = 2000
	// sniffBytes is how much of a file decides whether it is text.
	sniffBytes = 8 << 10
)

type readFileArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (s *Set) readFileTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "read_file",
			Description: "Read a text file. Long files are read in parts: the end of the result says how to continue.",
			Parameters: object(map[string]any{
				"path":   text("File to read, relative to the workspace or absolute."),
				"offset": integer("First line to read, counted from 1. Default 1.", 1, 1<<31-1),
				"limit":  integer(fmt.Sprintf("How many lines to read at most. Default %d.", defaultReadLines), 1, 1<<31-1),
			}, "path"),
		},
		Toolset: toolsetFile,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[readFileArgs](c)
			return Plan{Summary: "read " + oneLine(a.Path), ReadOnly: true}, err
		},
		Handler: s.readFile,
	}
}

func (s *Set) readFile(ctx context.Context, c Call) (Result, error) {
	a, err := decode[readFileArgs](c)
	if err != nil {
		return Result{}, err
	}
	p, err := s.sandbox.admit(a.Path, reading)
	if err != nil {
		return Result{}, err
	}
	f, info, err := s.openRegular(a.Path, p)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if info.Size() > maxReadBytes {
		return Result{}, fmt.Errorf("%s has %d bytes, more than the %d read_file looks into; use terminal, for example sed -n '1,200p'", a.Path, info.Size(), maxReadBytes)
	}
	r := bufio.NewReaderSize(io.LimitReader(f, maxReadBytes), 64<<10)
	head, err := r.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return Result{}, fmt.Errorf("%s: %w", a.Path, plain(err))
	}
	if binary(head) {
		return Result{}, fmt.Errorf("%s is a binary file of %d bytes; use terminal to inspect it", a.Path, info.Size())
	}
	return s.readLines(ctx, r, a)
}

// readLines takes the asked lines, as whole lines, up to the output limit.
func (s *Set) readLines(ctx context.Context, r *bufio.Reader, a readFileArgs) (Result, error) {
	first, limit := max(a.Offset, 1), a.Limit
	if limit == 0 {
		limit = defaultReadLines
	}
	var out bytes.Buffer
	line, last, more := 0, 0, false
	for {
		if line%4096 == 0 && ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		keep := line+1 >= first && line+1-first < limit
		room := 0
		if keep {
			room = s.outputLimit() - out.Len()
		}
		text, cut, err := readLine(r, room)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, plain(err)
		}
		line++
		if line < first {
			continue
		}
		if !keep || (cut && last != 0) {
			more = true
			break
		}
		out.Write(text)
		last = line
		if cut {
			fmt.Fprintf(&out, "\n[line %d is longer than the output limit and was cut]\n", line)
			more = true
			break
		}
	}
	return Result{Content: readable(out.Bytes()) + readTrailer(first, last, line, more)}, nil
}

func readTrailer(first, last, lines int, more bool) string {
	switch {
	case lines == 0:
		return "[the file is empty]"
	case last == 0:
		return fmt.Sprintf("[no line %d: the file has %d lines]", first, lines)
	case more:
		return fmt.Sprintf("\n[lines %d to %d; continue with offset=%d]", first, last, last+1)
	case first > 1:
		return fmt.Sprintf("\n[lines %d to %d, the end of the file]", first, last)
	}
	return ""
}

// readLine reads one line with its newline and keeps at most room bytes of it,
// so that memory does not follow the length of a line. io.EOF means that there
// was no line.
func readLine(r *bufio.Reader, room int) (line []byte, cut bool, err error) {
	got := false
	for {
		part, err := r.ReadSlice('\n')
		got = got || len(part) > 0
		keep := min(len(part), room-len(line))
		if keep > 0 {
			line = append(line, part[:keep]...)
		}
		cut = cut || keep < len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && got:
			return line, cut, nil
		}
		return line, cut, err
	}
}

// binary judges the beginning of a file: a NUL byte, or text that is mostly
// not UTF-8.
func binary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad, runes := 0, 0
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) {
			bad++
		}
		runes++
		head = head[n:]
	}
	return runes > 0 && bad*10 > runes*3
}
