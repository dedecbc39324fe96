package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// suspend opens or closes a profile as a person would.
func suspend(t *testing.T, k client.Client, name string, suspended bool) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"suspended":%t}}`, suspended)
	if err := k.Patch(context.Background(), profile(name), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenProfilesStopAtThemselves: of 100 profiles one has a corrupt store, one a panicking tool, one an unreadable
// home: 97 answer, three say why, and the broken ones recover when they are mended.
func TestBrokenProfilesStopAtThemselves(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.withFaults()
	c.Up()
	k, m, broken := c.Client(), model(t), model(t)
	const many = 97
	blocked := c.ProfileHome("blocked")
	writeFile(t, blocked, "a file where a directory should be\n")
	manifests := []string{profileYAML("blocked", m.URL(), ""), profileYAML("corrupt", m.URL(), ""), profileYAML("panics", broken.URL(), "")}
	names := make([]string, 0, many)
	for i := range many {
		names = append(names, fmt.Sprintf("well-%02d", i))
		manifests = append(manifests, profileYAML(names[i], m.URL(), ""))
	}
	c.Apply(manifests...)
	AwaitReady(c, k, profile("corrupt"), profile("panics"))
	kept, err := c.Turn("corrupt", "", "before")
	if err != nil {
		t.Fatal(err)
	}
	suspend(t, k, "corrupt", true)
	AwaitCondition(c, k, profile("corrupt"), v1alpha1.ConditionServed, "False", v1alpha1.ReasonSuspended)
	store := filepath.Join(c.ProfileHome("corrupt"), "state.db")
	good := readFile(t, store)
	writeFile(t, store, "this is no database"+good[19:])
	suspend(t, k, "corrupt", false)

	AwaitCondition(c, k, profile("corrupt"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonStoreCorrupt)
	AwaitCondition(c, k, profile("blocked"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonHomeWriteFailed)
	for _, name := range []string{"corrupt", "blocked"} {
		if _, err := c.Turn(name, "", "hello"); err == nil {
			t.Errorf("%s answers", name)
		}
	}
	if now := readFile(t, store); now != "this is no database"+good[19:] {
		t.Error("the damaged store was changed")
	}

	var turns sync.WaitGroup
	turns.Go(func() { c.panicUntilClosed(broken, "panics", 5) }) // while all the others answer
	for _, name := range names {
		AwaitReady(c, k, profile(name))
		turns.Go(func() {
			if answer, err := c.Turn(name, "", "I am "+name); err != nil || reply(answer) != "you said: I am "+name {
				t.Errorf("%s: %q, %v", name, reply(answer), err)
			}
		})
	}
	turns.Wait()
	AwaitReady(c, k, gateway("default"))
	if said := AwaitCondition(c, k, profile("panics"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonRuntimeFailed); !strings.Contains(said.Message, "fault_panic has a bug") {
		t.Errorf("the panic is not told: %s", said.Message)
	}
	if s := c.Status(); s.NeedAttention != 3 || s.Total != many+4 {
		t.Errorf("%d of %d need attention, want 3 of %d", s.NeedAttention, s.Total, many+4)
	}

	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	suspend(t, k, "corrupt", true)
	AwaitCondition(c, k, profile("corrupt"), v1alpha1.ConditionServed, "False", v1alpha1.ReasonSuspended)
	writeFile(t, store, good)
	suspend(t, k, "corrupt", false)
	AwaitReady(c, k, profile("blocked"), profile("panics"), profile("corrupt"))
	if _, err := c.Turn("panics", "", "again"); err != nil {
		t.Errorf("after the back-off: %v", err)
	}
	if _, err := c.Turn("corrupt", kept.Hermes.Session, "after"); err != nil {
		t.Errorf("the session of the mended store: %v", err)
	}
}

// TestConfigThatIsNoTextSaysSo: the one whose config.yaml somebody broke says which file and what to do, nothing
// restarts, and it is served again once the file is gone.
func TestConfigThatIsNoTextSaysSo(t *testing.T) {
	c := started(t)
	k, m := c.Client(), model(t)
	c.Apply(profileYAML("one", m.URL(), ""))
	AwaitReady(c, k, profile("one"))
	config := filepath.Join(c.ProfileHome("one"), "config.yaml")
	writeFile(t, config, "model: [\xff\xfe")
	suspend(t, k, "one", true)
	AwaitCondition(c, k, profile("one"), v1alpha1.ConditionServed, "False", v1alpha1.ReasonSuspended)
	suspend(t, k, "one", false)
	said := AwaitCondition(c, k, profile("one"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonConfigInvalid)
	if !strings.Contains(said.Message, config) || !strings.Contains(said.Message, "correct it or move it away") {
		t.Errorf("the remedy is not told: %s", said.Message)
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	AwaitReady(c, k, profile("one"))
	if answer, err := c.Turn("one", "", "hello"); err != nil || reply(answer) != "you said: hello" {
		t.Errorf("after the repair: %q, %v", reply(answer), err)
	}
}
