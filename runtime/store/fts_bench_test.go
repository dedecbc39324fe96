package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// prose is text of about n bytes in words of a vocabulary of 5,000, so that an index has something to do.
func prose(random *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		w := uint64(random.IntN(5000))
		for range 2 + w%7 {
			b.WriteByte(byte('a' + w%26))
			w = w*2862933555777941757 + 3037000493
			w ^= w >> 29
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// BenchmarkAppendProse is BenchmarkAppend with text that fills a full-text index, with and without the index: the
// difference is what the index costs a row.
func BenchmarkAppendProse(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("indexed=%t", indexed), func(b *testing.B) {
			ctx := context.Background()
			s := open(b, storePath(b), testOptions(b))
			ensure(b, s, "s")
			if !indexed {
				s.stopIndexing()
			}
			random := rand.New(rand.NewPCG(1, 2))
			texts := make([]string, 512)
			for i := range texts {
				texts[i] = prose(random, 1024)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := s.Append(ctx, "s", Message{Role: "user", Content: texts[i%len(texts)]}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
