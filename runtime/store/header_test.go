package store

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"testing"
)

func TestHeaderWatch(t *testing.T) {
	cases := []struct {
		id    string
		open  []uint32
		looks []uint32
		moved bool
	}{
		{"S-134 same", []uint32{7}, []uint32{7, 7}, false},
		{"S-134 another one", []uint32{7}, []uint32{7, 9}, true},
		{"S-134 id still in the log", []uint32{7}, []uint32{0, 0, 7, 7}, false},
		{"S-134 another one after that", []uint32{7}, []uint32{0, 7, 9}, true},
		{"S-134 nothing known", nil, []uint32{1, 2}, false},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			h := headerWatch{accepted: c.open}
			var err error
			for _, now := range c.looks {
				err = h.judge("/h/state.db", now)
			}
			if errors.Is(err, ErrReplaced) != c.moved {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDatabaseCopiedOver: S-134. The path names the same file; its content is another database's.
func TestDatabaseCopiedOver(t *testing.T) {
	ctx := context.Background()
	path := filled(t)
	s := open(t, path, testOptions(t))
	release(t, s)
	toCheckpoint := func() {
		for range checkpointEvery {
			say(t, s, "s", "x")
		}
	}
	toCheckpoint()
	if s.header.descriptor == 0 || s.refusal() != nil {
		t.Fatalf("descriptor %d, %v", s.header.descriptor, s.refusal())
	}
	other, err := os.OpenFile(path, os.O_RDWR, 0) // as cp does; the database's own locks survive it
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.WriteAt(binary.BigEndian.AppendUint32(nil, 0xBEEF), applicationIDOffset)
	if err := errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	toCheckpoint()
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrReplaced) || Classify(err) != BucketReplaced {
		t.Errorf("got %v, want ErrReplaced", err)
	}
	if dirs, err := Captures(path); err != nil || len(dirs) != 1 {
		t.Errorf("captures %v, %v", dirs, err)
	}
}
