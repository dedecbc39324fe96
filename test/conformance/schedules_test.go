package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/cron"
)

// job reads the job that a Schedule declares from the disk, as another process would.
func (w *world) job(s *v1alpha1.Schedule) (cron.Job, bool) {
	w.Helper()
	for _, j := range w.jobs() {
		if strings.HasPrefix(j.DeclaredBy, "Schedule ") && strings.Contains(j.DeclaredBy, string(s.UID)) {
			return j, true
		}
	}
	return cron.Job{}, false
}

func (w *world) jobs() []cron.Job {
	w.Helper()
	jobs, err := w.store().Jobs()
	if err != nil {
		w.Fatal(err)
	}
	return jobs
}

func (w *world) store() *cron.Store {
	w.Helper()
	store, err := cron.Open(w.homeOf("alice"), cron.Options{Owner: cron.Owner{Host: "test", PID: 1}})
	if err != nil {
		w.Fatal(err)
	}
	return store
}

func (w *world) awaitJob(s *v1alpha1.Schedule, what string, f func(cron.Job) bool) {
	w.Helper()
	w.await(what, func() (bool, string) {
		j, ok := w.job(s)
		return ok && f(j), fmt.Sprintf("%v %+v", ok, j)
	})
}

// scheduleFields are the fields of a Schedule whose effect is its job.
var scheduleFields = map[string]struct {
	change func(s *v1alpha1.ScheduleSpec)
	seen   func(j cron.Job) bool
}{
	"Schedule.schedule": {func(s *v1alpha1.ScheduleSpec) { s.Schedule = "0 7 * * *" }, func(j cron.Job) bool { return j.Schedule.Expr == "0 7 * * *" }},
	"Schedule.timezone": {func(s *v1alpha1.ScheduleSpec) { s.Timezone = "Asia/Tokyo" }, func(j cron.Job) bool { return j.Schedule.Zone == "Asia/Tokyo" }},
	"Schedule.prompt":   {func(s *v1alpha1.ScheduleSpec) { s.Prompt = "other" }, func(j cron.Job) bool { return j.Prompt == "other" }},
	"Schedule.skills":   {func(s *v1alpha1.ScheduleSpec) { s.Skills = []string{"news"} }, func(j cron.Job) bool { return slices.Equal(j.Skills, []string{"news"}) }},
	"Schedule.deliver": {
		func(s *v1alpha1.ScheduleSpec) { s.Deliver = []string{"local", "slack:C1"} },
		func(j cron.Job) bool { return j.Deliver == "local,slack:C1" },
	},
	"Schedule.repeat": {
		func(s *v1alpha1.ScheduleSpec) { n := int32(3); s.Repeat = &n },
		func(j cron.Job) bool { return j.Repeat.Times != nil && *j.Repeat.Times == 3 },
	},
	"Schedule.suspend": {func(s *v1alpha1.ScheduleSpec) { s.Suspend = true }, func(j cron.Job) bool { return j.Paused() && !j.Runnable() }},
	"Schedule.model":   {func(s *v1alpha1.ScheduleSpec) { s.Model = "small" }, func(j cron.Job) bool { return j.Model == "small" }},
}

// Each field reaches the job, and taking it back does too.
func TestScheduleFieldsReachTheJob(t *testing.T) {
	for path, f := range scheduleFields {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := briefOf()(w).(*v1alpha1.Schedule)
			w.awaitCondition(s, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			before := s.Spec.DeepCopy()
			w.awaitJob(s, "the job without the change", func(j cron.Job) bool { return !f.seen(j) })
			w.change(s, func() { f.change(&s.Spec) })
			w.awaitJob(s, "the job with the change", f.seen)
			w.change(s, func() { s.Spec = *before.DeepCopy() })
			w.awaitJob(s, "the job without the change again", func(j cron.Job) bool { return !f.seen(j) })
			w.awaitCondition(s, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
		})
	}
}

// Drift is repaired, and the jobs of a person or an agent are never touched.
func TestScheduleDrift(t *testing.T) {
	for name, drift := range map[string]func(*world){
		"prompt edited": func(w *world) { w.editJobs("What is new?", "something else") },
		"paused": func(w *world) {
			w.editJobs(`"enabled": true`, `"enabled": false`, `"state": "scheduled"`, `"state": "paused"`)
		},
		"job removed": func(w *world) { w.editJobs(`"declared_by": "Schedule`, `"declared_by": "nobody`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := briefOf()(w).(*v1alpha1.Schedule)
			w.awaitCondition(s, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			w.settle()
			drift(w)
			w.awaitJob(s, "the job is as declared", func(j cron.Job) bool { return j.Prompt == "What is new?" && j.Runnable() })
			w.settle()
		})
	}
}

// Deleting removes only its own job, also when nobody served the profile then.
func TestScheduleDeletion(t *testing.T) {
	for name, closed := range map[string]bool{"while it is served": false, "while it is closed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := briefOf()(w).(*v1alpha1.Schedule)
			other := brief()
			other.Name = "other"
			w.create(other)
			w.awaitCondition(s, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			w.awaitCondition(other, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			own, err := w.store().Create(t.Context(), cron.NewJob{Name: "mine", Prompt: "x", Schedule: "every 1h"})
			if err != nil {
				t.Fatal(err)
			}
			if closed {
				w.setClosed(true)
			}
			w.delete(s)
			w.awaitGone(s)
			if closed {
				if _, ok := w.job(s); !ok {
					t.Fatal("the job went with nobody there to remove it")
				}
				w.setClosed(false)
			}
			w.await("the job is gone", func() (bool, string) { _, ok := w.job(s); return !ok, fmt.Sprint(w.jobs()) })
			w.settle()
			if _, ok := w.job(other); !ok || !slices.ContainsFunc(w.jobs(), func(j cron.Job) bool { return j.ID == own.ID && j.Runnable() }) {
				t.Errorf("another job was touched: %+v", w.jobs())
			}
		})
	}
}

// setDown suspends the profile alice, or lets it be served again.
func (w *world) setClosed(closed bool) {
	w.Helper()
	p := profile("alice")
	p.Namespace = w.ns
	w.change(p, func() { p.Spec.Suspended = closed })
	w.await("the profile follows", func() (bool, string) {
		w.get(p)
		_, open := w.profilesOf().Jobs("alice")
		return open == !closed, summary(p)
	})
}
