package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// turn is what a turn with 26 model calls stores: the question, then a call and its result each time.
func turn() [][]Message {
	calls := json.RawMessage(`[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"/a/b\"}"}}]`)
	result := strings.Repeat("x", 1024)
	steps := [][]Message{{{Role: "user", Content: "Please look into it."}}}
	for range 26 {
		steps = append(steps, []Message{
			{Role: "assistant", Content: "Looking.", ToolCalls: calls, FinishReason: "tool_calls"},
			{Role: "tool", Content: result, ToolCallID: "call_1", ToolName: "read_file"},
		})
	}
	return steps
}

// BenchmarkTurn stores a 26-call turn the way the turn loop does: each row before it is acted on, usage after each
// call. ns/call is the store's share of the turn overhead.
func BenchmarkTurn(b *testing.B) {
	for _, synchronous := range []string{"NORMAL", "FULL"} {
		b.Run(synchronous, func(b *testing.B) {
			ctx := context.Background()
			options := testOptions(b)
			options.Synchronous = synchronous
			s := open(b, storePath(b), options)
			ensure(b, s, "s")
			steps := turn()
			rows := 0
			for b.Loop() {
				for _, step := range steps {
					for _, m := range step {
						if _, err := s.Append(ctx, "s", m); err != nil {
							b.Fatal(err)
						}
						rows++
					}
					if err := s.AddUsage(ctx, "s", Usage{Model: "m", InputTokens: 1000, OutputTokens: 50, APICalls: 1}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/26, "ns/call")
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, synchronous := range []string{"NORMAL", "FULL"} {
		b.Run(synchronous, func(b *testing.B) {
			ctx := context.Background()
			options := testOptions(b)
			options.Synchronous = synchronous
			s := open(b, storePath(b), options)
			ensure(b, s, "s")
			m := Message{Role: "user", Content: strings.Repeat("x", 1024)}
			for b.Loop() {
				if _, err := s.Append(ctx, "s", m); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkMessages reads a session of 53 rows, one turn's worth.
func BenchmarkMessages(b *testing.B) {
	ctx := context.Background()
	s := open(b, storePath(b), testOptions(b))
	ensure(b, s, "s")
	for _, step := range turn() {
		if _, err := s.Append(ctx, "s", step...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if got, err := s.Messages(ctx, "s"); err != nil || len(got) != 53 {
			b.Fatal(len(got), err)
		}
	}
}

func BenchmarkOpenClose(b *testing.B) {
	ctx := context.Background()
	b.Run("new", func(b *testing.B) {
		dir := b.TempDir()
		for i := 0; b.Loop(); i++ {
			s, err := Open(ctx, filepath.Join(dir, strconv.Itoa(i)), Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	// A gateway's stores share an inventory; a command line's one store looks for itself.
	for name, inventory := range map[string]*Inventory{"existing": nil, "existing shared inventory": NewInventory(clock.RealClock{})} {
		b.Run(name, func(b *testing.B) {
			path := storePath(b)
			for b.Loop() {
				s, err := Open(ctx, path, Options{Inventory: inventory})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports the resident memory of one open store among 500, each with a turn written and read; and
// what is left of it once they are closed.
func BenchmarkMemory(b *testing.B) {
	const stores = 500
	ctx := context.Background()
	for b.Loop() {
		dir := b.TempDir()
		before := resident(b)
		opened := make([]*Store, stores)
		for i := range opened {
			s, err := Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", i)), Options{})
			if err != nil {
				b.Fatal(err)
			}
			ensure(b, s, "s")
			for _, step := range turn() {
				if _, err := s.Append(ctx, "s", step...); err != nil {
					b.Fatal(err)
				}
			}
			opened[i] = s
		}
		written := resident(b)
		for _, s := range opened {
			if got, err := s.Messages(ctx, "s"); err != nil || len(got) != 53 {
				b.Fatal(len(got), err)
			}
		}
		read := resident(b)
		for _, s := range opened {
			s.readers.SetMaxIdleConns(0) // what readerIdle does a moment later
		}
		idle := resident(b)
		for _, s := range opened {
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(written-before)/stores/1024, "KiB/written-store")
		b.ReportMetric(float64(read-before)/stores/1024, "KiB/reading-store")
		b.ReportMetric(float64(idle-before)/stores/1024, "KiB/idle-store")
		b.ReportMetric(float64(resident(b)-before)/stores/1024, "KiB/closed-store")
	}
}

// resident is the process's resident memory in bytes after a collection.
func resident(b *testing.B) int64 {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("no /proc/self/statm on this system: resident memory cannot be read")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
