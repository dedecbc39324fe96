package manifestdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// events are those about a file, as type/reason/message, oldest first.
func (r *rig) events(file string) []string {
	r.t.Helper()
	list, err := r.client.Resource(eventResource).Namespace("default").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	var warnings, others []string
	for _, item := range list.Items {
		message, _ := item.Object["message"].(string)
		about, _ := item.Object["involvedObject"].(map[string]any)
		if !strings.Contains(message, r.dir) || !strings.Contains(message, file) {
			continue
		}
		if about["kind"] != "Namespace" || about["name"] != "default" {
			r.t.Errorf("event about %v", about)
		}
		line := item.Object["type"].(string) + " " + item.Object["reason"].(string) + " " + message
		if item.Object["type"] == "Warning" {
			warnings = append(warnings, line)
		} else {
			others = append(others, line)
		}
	}
	return append(warnings, others...)
}

func (r *rig) awaitEvents(file string, n int) []string {
	r.t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(r.t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		got = r.events(file)
		return len(got) >= n, nil
	})
	if err != nil {
		r.t.Fatalf("events %q, want %d; log:\n%s", got, n, r.said())
	}
	return got
}

// awaitTrouble waits for the record, which is written after the pass.
func (r *rig) awaitTrouble() (failures []Failure) {
	r.t.Helper()
	err := wait.PollUntilContextTimeout(r.t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (ok bool, err error) {
		failures, err = ReadTrouble(r.trouble, 7, 8)
		return len(failures) > 0, err
	})
	if err != nil {
		r.t.Fatalf("no record of what is wrong; log:\n%s", r.said())
	}
	return failures
}

// replace puts a whole file in place, so that the watcher never sees an empty one.
func (r *rig) replace(name, content string) {
	r.t.Helper()
	temp := filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(temp, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// A bad file is one event and one line of hermes status for as long as it is bad in the same way.
func TestBadFilesAreEventsOncePerChange(t *testing.T) {
	r := start(t, t.TempDir())
	r.replace("bad.yaml", "kind: [")
	r.replace("good.yaml", configmap("good-beside", "one"))
	r.await("good-beside=one")
	first := r.awaitEvents("bad.yaml", 1)
	if !strings.HasPrefix(first[0], "Warning ManifestNotApplied "+r.dir+"/bad.yaml") {
		t.Errorf("event %q", first[0])
	}
	failures := r.awaitTrouble()
	if len(failures) != 1 || !strings.HasPrefix(failures[0].At, r.dir+"/bad.yaml") || failures[0].Message == "" || failures[0].Since.IsZero() {
		t.Fatalf("for status: %+v", failures)
	}
	written, err := os.Stat(r.trouble)
	if err != nil {
		t.Fatal(err)
	}
	// Other passes, with the same failure in each.
	for _, value := range []string{"two", "three"} {
		r.replace("good.yaml", configmap("good-beside", value))
		r.await("good-beside=" + value)
	}
	if got := r.events("bad.yaml"); len(got) != 1 {
		t.Errorf("the same failure is said again: %q", got)
	}
	if now, err := os.Stat(r.trouble); err != nil || !os.SameFile(now, written) {
		t.Errorf("the same failure is written again: %v", err)
	}
	// Another failure, then none.
	r.replace("bad.yaml", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n")
	r.awaitEvents("bad.yaml", 2)
	r.replace("bad.yaml", configmap("good-after-all", "x"))
	r.await("good-after-all=x", "good-beside=three")
	got := r.awaitEvents("bad.yaml", 3)
	if last := got[len(got)-1]; !strings.HasPrefix(last, "Normal ManifestApplied ") {
		t.Errorf("events %q", got)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		_, err := os.Stat(r.trouble)
		return errors.Is(err, fs.ErrNotExist), nil
	})
	if err != nil {
		t.Error("all is well and the record is still there")
	}
}

// The record goes with its writer, and that of another process says nothing.
func TestTroubleIsThatOfItsWriter(t *testing.T) {
	r := start(t, t.TempDir())
	r.replace("bad.yaml", "kind: [")
	r.awaitEvents("bad.yaml", 1)
	r.awaitTrouble()
	for pid, start := range map[int]int64{7: 9, 6: 8} {
		if failures, err := ReadTrouble(r.trouble, pid, start); err != nil || failures != nil {
			t.Errorf("record of another process: %v, %v", failures, err)
		}
	}
	r.stop()
	if _, err := os.Stat(r.trouble); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record outlives its writer: %v", err)
	}
}

func TestClip(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 2000), strings.Repeat("a", maxEventMessage+1)} {
		got := clip(s, maxEventMessage)
		if len(got) > maxEventMessage || !utf8.ValidString(got) || len(s) <= maxEventMessage && got != s || len(s) > maxEventMessage && !strings.HasSuffix(got, "…") {
			t.Errorf("clip of %d bytes: %d bytes", len(s), len(got))
		}
	}
}
