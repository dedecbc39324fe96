package e2e

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestFirstRun is what a person does first: up on an empty machine, one message, down, up again.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.Up("--demo", "--wait")
	first := c.chat("-q", "Hello! What are you?")
	if first.Reply == "" || first.Session == "" {
		t.Fatalf("no reply or no session: %+v", first)
	}
	if s := c.Status(); s.Total != 2 || s.Ready != 2 || s.NeedAttention != 0 {
		t.Fatalf("status after the first message: %+v", s)
	}

	second := c.Hermes("up")
	if second.Code != 75 || !strings.Contains(second.Err, strconv.Itoa(c.UpPID())) {
		t.Fatalf("a second hermes up: exit %d, want 75 and the owner's pid %d in: %s", second.Code, c.UpPID(), second.Err)
	}
	if again := c.chat("-q", "Still there?"); again.Reply == "" {
		t.Fatal("the second hermes up disturbed the first one")
	}

	c.Down()
	if left := c.processes(); len(left) > 0 {
		t.Fatalf("left after hermes down: %+v", left)
	}
	c.Down() // any number of times

	c.Up("--wait")
	detail, err := c.API(c.GatewayHome("default")).Session(t.Context(), "demo", first.Session)
	if err != nil {
		t.Fatalf("session of before the restart: %v", err)
	}
	if len(detail.Transcript) < 2 || detail.Transcript[0].Content != "Hello! What are you?" || detail.Transcript[1].Content != first.Reply {
		t.Fatalf("transcript of before the restart: %+v", detail.Transcript)
	}
	if more := c.chat("--session", first.Session, "-q", "And now?"); more.Session != first.Session {
		t.Fatalf("went on in session %s, want %s", more.Session, first.Session)
	}
}

// chatAnswer is what hermes chat -o json prints.
type chatAnswer struct {
	Session string `json:"session"`
	Reply   string `json:"reply"`
}

// chat runs hermes chat with the demo profile.
func (c *Cluster) chat(args ...string) chatAnswer {
	c.t.Helper()
	out := c.must(c.Hermes(append([]string{"chat", "-p", "demo", "-o", "json"}, args...)...))
	var a chatAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		c.t.Fatalf("hermes chat -o json: %v\n%s", err, out)
	}
	return a
}

// TestStopIsQuiet: watches are told to end when the control plane stops, so that nothing is waited for in vain and nothing
// is logged as a failure.
func TestStopIsQuiet(t *testing.T) {
	c := started(t)
	c.Apply(demoYAML("one", ""))
	AwaitReady(c, c.Client(), profile("one"))
	c.Down()
	log := readFile(t, filepath.Join(c.Data, "controlplane", "apiserver.log"))
	if strings.Contains(log, "Failed to shutdown server") {
		t.Error("the control plane gave up waiting for its connections")
	}
}
