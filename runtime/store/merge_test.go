package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestMergeInSmallSteps: an index is merged into one segment however little a step does. It has a table of its own, so
// that it does not depend on what is indexed of messages.
func TestMergeInSmallSteps(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	runSQL(t, s, "CREATE VIRTUAL TABLE own_fts USING fts5(content)")
	for document := range 40 {
		var words strings.Builder
		for i := range 300 {
			fmt.Fprintf(&words, " d%dw%d", document, i)
		}
		runSQL(t, s, "INSERT INTO own_fts(content) VALUES ('"+words.String()+"')")
	}
	const segments = "(SELECT DISTINCT segid FROM own_fts_idx)"
	if n := rowsIn(t, s, segments); n < 2 {
		t.Fatalf("%d segments: nothing to merge", n)
	}
	if err := s.mergeIndex(context.Background(), "own_fts", 1); err != nil || rowsIn(t, s, segments) != 1 {
		t.Errorf("%v, %d segments", err, rowsIn(t, s, segments))
	}
}
