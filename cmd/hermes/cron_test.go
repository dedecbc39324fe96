package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/profilehome"
)

// TestCronUnserved: without a gateway the job file is changed here, and a tick runs what is due in this command.
func TestCronUnserved(t *testing.T) {
	root := t.TempDir()
	paths := profilehome.Write(t, root, "alice", profilehome.Demo())
	hermes := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := hermesHere(t, append([]string{"cron", "--home", paths.Home}, args...)...)
		if code != want {
			t.Fatalf("hermes cron %q ended with %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	if text := hermes(0, "list"); !strings.Contains(text, "no scheduled jobs") {
		t.Error(text)
	}
	var j localapi.Job
	if err := json.Unmarshal([]byte(hermes(0, "add", "every 2h", "say hello", "--name", "hello", "-o", "json")), &j); err != nil {
		t.Fatal(err)
	}
	if text := hermes(1, "status"); !strings.Contains(text, "no gateway serves profile alice") {
		t.Error(text)
	}
	if text := hermes(0, "edit", "hello", "--schedule", "every 3h"); !strings.Contains(text, "changed") {
		t.Error(text)
	}
	hermes(2, "edit", "hello")
	hermes(2, "resume", "hello", "--at", "2030-01-01", "--run-now")
	hermes(1, "resume", "hello", "--run-now")
	if text := hermes(1, "forecast"); !strings.Contains(text, "no command") {
		t.Error(text)
	}
	if text := hermes(0, "run", "hello", "--wait"); !strings.Contains(text, "completed") {
		t.Error(text)
	}
	if text := hermes(0, "history", "hello"); !strings.Contains(text, "completed") || !strings.Contains(text, "manual") {
		t.Error(text)
	}
	hermes(0, "tick")
	hermes(0, "pause", "hello", "--reason", "holiday")
	hermes(0, "doctor")
	hermes(0, "rm", j.ID)
	hermes(1, "remove", "hello")
}
