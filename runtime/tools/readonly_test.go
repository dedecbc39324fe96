package tools

import (
	"context"
	"encoding/json"
	"testing"
)

func TestReadOnly(t *testing.T) {
	s, err := NewSet(Config{Home: t.TempDir(), Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	for call, want := range map[[2]string]bool{
		{"read_file", `{"path":"a"}`}:                true,
		{"list_dir", `{}`}:                           true,
		{"read_file", `{"path":7}`}:                  false,
		{"read_file", `{`}:                           false,
		{"write_file", `{"path":"a","content":"b"}`}: false,
		{"terminal", `{"command":"ls"}`}:             false,
		{"no_such_tool", `{}`}:                       false,
	} {
		if got := s.ReadOnly(Call{ID: "1", Name: call[0], Arguments: json.RawMessage(call[1])}); got != want {
			t.Errorf("%s %s: %v", call[0], call[1], got)
		}
	}
}
