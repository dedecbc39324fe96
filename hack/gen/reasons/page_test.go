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
		"no remedy": "// ReasonReady means it works.\nReasonReady = \"Ready\"",
		"no place":  "// ReasonNew means something. Remedy: none.\nReasonNew = \"New\"",
		"gone":      "// ReasonReady means it works. Remedy: none.\nReasonReady = \"Ready\"",
	}
	for name, body := range cases {
		if _, err := Page([]byte("package v1alpha1\nconst (\n" + body + "\n)\n")); err == nil || !strings.ContainsAny(err.Error(), "RN") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
