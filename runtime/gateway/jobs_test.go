package gateway

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/home"
)

// TestJobs: what the node agent declares is what the profile's own scheduler ticks, and a profile that is closed takes
// no more declarations.
func TestJobs(t *testing.T) {
	paths, err := home.ForProfile(t.TempDir(), "default")
	if err != nil {
		t.Fatal(err)
	}
	p := newProfiles("run", nil, nil, clock.RealClock{}, newMetrics(), logr.Discard())
	t.Cleanup(func() { _ = p.shutdown(t.Context()) })
	if _, ok := p.Jobs("default"); ok {
		t.Fatal("a profile that is not open has a job store")
	}
	if err := p.Open(t.Context(), paths, nil); err != nil {
		t.Fatal(err)
	}
	store, ok := p.Jobs("default")
	if !ok {
		t.Fatal("an open profile has no job store")
	}
	if list, err := p.ticked(); err != nil || len(list) != 0 {
		t.Fatalf("ticked without a job: %v, %v", list, err)
	}
	before, err := store.Revision()
	if err != nil {
		t.Fatal(err)
	}
	job, written, err := store.Declare(t.Context(), "Schedule ns/brief (u1)", cron.NewJob{Prompt: "x", Schedule: "every 1h"})
	if err != nil || !written {
		t.Fatalf("declare: %v, %v", written, err)
	}
	if after, err := store.Revision(); err != nil || after == before {
		t.Errorf("revision %q after %q: %v", after, before, err)
	}
	list, err := p.ticked()
	if err != nil || len(list) != 1 {
		t.Fatalf("ticked: %v, %v", list, err)
	}
	if jobs, err := list[0].Scheduler.Store().Jobs(); err != nil || len(jobs) != 1 || jobs[0].ID != job.ID {
		t.Errorf("the scheduler has %+v, %v", jobs, err)
	}
	if err := p.Close(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Jobs("default"); ok {
		t.Error("a closed profile has a job store")
	}
}
