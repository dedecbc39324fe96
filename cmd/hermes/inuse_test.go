package main

import (
	"testing"
)

// What a verb tells people to run reaches the same data directory, whoever says it.
func TestRemediesNameTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	if r := runHere(t, nil, "--data", dir, "doctor"); contains(r, "-> hermes --data "+dir+" up") != nil {
		t.Error(r)
	}
	if r := runHere(t, map[string]string{"HERMES_DATA": dir}, "doctor"); contains(r, "-> hermes up") != nil {
		t.Error(r)
	}
}
