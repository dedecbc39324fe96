package cron

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"
)

// childEnv makes the test binary run as another process on a store instead of running tests.
const childEnv = "CRON_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

var testStart = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// fixture is a store in a temporary home with a clock that stands still.
type fixture struct {
	*Store
	home     string
	clock    *clocktesting.FakeClock
	settings Settings
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{home: t.TempDir(), clock: clocktesting.NewFakeClock(testStart), settings: DefaultSettings()}
	f.Store = f.other(t, testOwner(1000))
	return f
}

// other opens the same files as another process would.
func (f *fixture) other(t testing.TB, owner Owner) *Store {
	t.Helper()
	o := Options{Clock: f.clock, Owner: owner, LockPatience: 300 * time.Millisecond, Settings: func() Settings { return f.settings }}
	if test, ok := t.(*testing.T); ok {
		o.Log = testr.New(test)
	}
	s, err := Open(f.home, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testOwner is a process of host "h" for whom every pid below 9000 is alive.
func testOwner(pid int) Owner {
	return Owner{Host: "h", PID: pid, StartedAt: 1, Life: func(pid int, _ int64) Life {
		if pid >= 9000 {
			return LifeDead
		}
		return LifeAlive
	}}
}

func (f *fixture) create(t testing.TB, n NewJob) Job {
	t.Helper()
	if n.Prompt == "" {
		n.Prompt = "say hello"
	}
	job, err := f.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func (f *fixture) write(t testing.TB, content string) {
	t.Helper()
	if err := makeDir(f.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.inDir(jobsFile), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) job(t testing.TB, ref string) Job {
	t.Helper()
	job, err := f.Job(ref)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// put stores a job as it is.
func (f *fixture) put(t testing.TB, jobs ...Job) {
	t.Helper()
	if err := f.update(t.Context(), func(x *tx) error {
		for _, job := range jobs {
			x.put(job)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
