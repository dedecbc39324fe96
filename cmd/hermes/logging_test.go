package main

import (
	"bytes"
	"errors"
	"testing"
)

// The four lines of hermes up stay the last ones on a terminal: what is said there besides is a warning.
func TestLogs(t *testing.T) {
	say := func(l logs) {
		l.own.Info("own info")
		l.own.Error(errors.New("x"), "own error")
		l.libraries.Info("library info")
		l.libraries.Error(errors.New("x"), "library error")
	}
	var alone, screen, file bytes.Buffer
	say(logsTo(&alone, nil))
	say(logsTo(&screen, &file))
	for name, tc := range map[string]struct {
		out  *bytes.Buffer
		want map[string]bool
	}{
		"without a file": {&alone, map[string]bool{"own info": true, "own error": true, "library info": false, "library error": true}},
		"the terminal":   {&screen, map[string]bool{"own info": false, "own error": true, "library info": false, "library error": true}},
		"the file":       {&file, map[string]bool{"own info": true, "own error": true, "library info": false, "library error": true}},
	} {
		for line, want := range tc.want {
			if got := bytes.Contains(tc.out.Bytes(), []byte(line)); got != want {
				t.Errorf("%s: %q is there: %t, want %t", name, line, got, want)
			}
		}
	}
}
