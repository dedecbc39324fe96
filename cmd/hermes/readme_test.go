package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeNamesEveryPage: a page that nothing points to is not found.
func TestReadmeNamesEveryPage(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v, %v", pages, err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); !strings.Contains(string(readme), "](docs/"+name+")") {
			t.Errorf("README.md does not link to docs/%s", name)
		}
	}
}
