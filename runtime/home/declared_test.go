package home

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDeclaredFile(t *testing.T) {
	p, err := ForProfile(t.TempDir(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if DeclaredFile(p, "memories/USER.md") {
		t.Error("a home without a record declares nothing")
	}
	r := &record{Version: BundleVersion, Trees: map[string]*recordTree{homeTree: {Files: map[string]recordFile{"memories/USER.md": {}}}}}
	path := filepath.Join(p.Home, recordName)
	if err := os.WriteFile(path, r.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	for rel, want := range map[string]bool{"memories/USER.md": true, "memories/./USER.md": true, "memories/MEMORY.md": false} {
		if got := DeclaredFile(p, rel); got != want {
			t.Errorf("%s is declared: %v", rel, got)
		}
	}
	if err := os.WriteFile(path, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !DeclaredFile(p, "memories/MEMORY.md") {
		t.Error("with a record that cannot be read nothing may be changed")
	}
}
