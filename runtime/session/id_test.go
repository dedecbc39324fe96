package session

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"
)

func TestNewID(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 29, 22, 55, 1, 999, berlin)
	id, err := NewID(now, bytes.NewReader([]byte{0xab, 0x12, 0xcd, 0x34, 0xef}))
	if err != nil || id != "20261129_215501_ab12cd34ef" {
		t.Errorf("NewID = %s, %v", id, err)
	}
	made, err := ParseID(id)
	if err != nil || !made.Equal(now.Truncate(time.Second)) || made.Location() != time.UTC {
		t.Errorf("ParseID = %v, %v", made, err)
	}
	if _, err := NewID(now, iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("NewID without randomness = %v", err)
	}
}

func TestIDsSortByTime(t *testing.T) {
	start := time.Date(2025, 12, 31, 23, 59, 58, 0, time.UTC)
	var ids []string
	for i := range 5 {
		id, err := NewID(start.Add(time.Duration(i)*time.Second), nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids = %v", ids)
	}
	// Two ids of the same second differ (one chance in a million million).
	a, _ := NewID(start, nil)
	b, _ := NewID(start, nil)
	if a == b {
		t.Errorf("both ids are %s", a)
	}
}

// TestParseIDTakesOtherPrograms: stores that other programs wrote hold six random digits.
func TestParseIDTakesOtherPrograms(t *testing.T) {
	if made, err := ParseID("20250101_120000_abcdef"); err != nil || made.Year() != 2025 {
		t.Errorf("ParseID = %v, %v", made, err)
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, id := range []string{"", "x", "20261129_215501", "20261129_215501_AB12CD", "20261129_215501_ab12cde", "20261329_215501_ab12cd", "20261129_256101_ab12cd", "20261129-215501-ab12cd"} {
		if made, err := ParseID(id); err == nil {
			t.Errorf("ParseID(%q) = %v", id, made)
		}
	}
}

// S-421: the table of sources.
func TestS421Paced(t *testing.T) {
	for kind, want := range map[Kind]bool{
		"subagent": false, "cron": false, "oneshot": false, "webhook": false, "kanban": false, "api": false, "tool": false, "batch": false, " Cron ": false,
		"cli": true, "tui": true, "desktop": true, "discord": true, "": true, "anything": true,
	} {
		if got := kind.Paced(); got != want {
			t.Errorf("%q is paced by a person = %v, want %v", kind, got, want)
		}
	}
}
