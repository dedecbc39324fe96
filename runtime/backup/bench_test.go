package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/store"
)

// BenchmarkCreate backs up a store of 20,000 messages of 1 KiB, everything included: snapshot, check, packing, reading back.
func BenchmarkCreate(b *testing.B) {
	home := makeHome(b, 1)
	s := openStore(b, home)
	for i := range 200 {
		var rows []store.Message
		for j := range 100 {
			rows = append(rows, store.Message{Role: "user", Content: fmt.Sprintf("%d %d %s", i, j, strings.Repeat("words and more ", 68))})
		}
		_, err := s.Append(context.Background(), "s0", rows...)
		must(b, err)
	}
	must(b, s.Close())
	dir := b.TempDir()
	b.ResetTimer()
	for range b.N {
		made, err := Create(context.Background(), source(home), CreateOptions{Dir: dir, Now: start, Log: logr.Discard()})
		must(b, err)
		b.SetBytes(made.Bytes())
		b.ReportMetric(float64(made.Size), "file-bytes")
	}
}
