package main

import (
	"os"
	"strings"
	"testing"
)

func TestPageIsCurrent(t *testing.T) {
	source, err := os.ReadFile("../../../api/v1alpha1/reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Page(source)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/reasons.md")
	if err != nil || string(got) != want {
		t.Errorf("docs/reasons.md is stale (%v): run go run ./hack/gen/reasons", err)
	}
}

func TestPageRefusesWhatPeopleCouldNotUse(t *testing.T) {
	cases := map[string]string{
		"must read":      "// ReasonReady means it works.\nReasonReady = \"Ready\"",
		"on which kind":  "// ReasonNew means something. Remedy: none.\nReasonNew = \"New\"",
		"no such reason": "// ReasonReady means it works. Remedy: none.\nReasonReady = \"Ready\"",
	}
	for want, body := range cases {
		if _, err := Page([]byte("package v1alpha1\nconst (\n" + body + "\n)\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
