package statusview

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The example in docs/status-json.md has exactly the fields of the form, and every one of them is described.
func TestDocumentIsDescribed(t *testing.T) {
	raw, err := os.ReadFile("../../../../docs/status-json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	var d Document
	decoder := json.NewDecoder(strings.NewReader(example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("the example has a field that the form does not: %v", err)
	}
	again, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(bytes.TrimSpace(again)); got != strings.TrimSpace(example) {
		t.Errorf("the example is not what the form gives:\n%s", got)
	}
}
