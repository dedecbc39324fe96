package conformance

import (
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/node"
)

// brief is a Schedule of the profile alice.
func brief(changes ...func(*v1alpha1.ScheduleSpec)) *v1alpha1.Schedule {
	s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Name: "brief"}, Spec: v1alpha1.ScheduleSpec{
		ProfileRef: v1alpha1.ProfileRef{Name: "alice"}, Schedule: "0 9 * * 1-5", Prompt: "What is new?",
	}}
	for _, c := range changes {
		c(&s.Spec)
	}
	return s
}

// briefOf makes a Schedule of a profile that is served.
func briefOf(changes ...func(*v1alpha1.ScheduleSpec)) func(*world) client.Object {
	return func(w *world) client.Object {
		w.served()
		s := brief(changes...)
		w.create(s)
		return s
	}
}

func editBrief(f func(*v1alpha1.ScheduleSpec)) func(*world, client.Object) {
	return func(w *world, o client.Object) { w.change(o, func() { f(&o.(*v1alpha1.Schedule).Spec) }) }
}

// jobFile is the job store of the profile alice on disk.
func (w *world) jobFile() string { return filepath.Join(w.homeOf("alice"), "cron", "jobs.json") }

// writeJobs puts text into the job file, as any program may.
func (w *world) writeJobs(text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.jobFile()), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.jobFile(), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// editJobs replaces text in the job file, as any program may.
func (w *world) editJobs(pairs ...string) {
	w.Helper()
	text, err := os.ReadFile(w.jobFile())
	if err != nil {
		w.Fatal(err)
	}
	edited := strings.NewReplacer(pairs...).Replace(string(text))
	if edited == string(text) {
		w.Fatalf("nothing of %q is in the job file:\n%s", pairs, text)
	}
	w.writeJobs(edited)
}

// badBrief is a Schedule that a person wrote wrongly, and how it is put right.
func badBrief(name, reason string, wrong, right func(*v1alpha1.ScheduleSpec)) row {
	return row{
		name: "schedule with " + name, make: briefOf(wrong), ready: no, reason: reason, progress: stalled,
		also: map[string]string{v1alpha1.ConditionScheduled: reason}, events: []string{"Warning " + reason},
		cure: editBrief(right),
	}
}

var scheduleRows = []row{
	{
		name: "schedule without its profile", ready: no, reason: v1alpha1.ReasonProfileNotFound, progress: stalled,
		also:   map[string]string{v1alpha1.ConditionReferencesResolved: v1alpha1.ReasonProfileNotFound},
		make:   func(w *world) client.Object { s := brief(); w.create(s); return s },
		events: []string{"Warning ProfileNotFound"},
		cure:   func(w *world, _ client.Object) { w.alice() },
	},
	{
		name: "schedule of a profile that waits", ready: no, reason: v1alpha1.ReasonProfileNotServed, progress: reconciling,
		also: map[string]string{v1alpha1.ConditionReferencesResolved: v1alpha1.ReasonResolved},
		make: func(w *world) client.Object {
			w.profilesOf().setFail("alice", &node.Refusal{Reason: v1alpha1.ReasonHomeInUse, Err: os.ErrExist})
			w.alice()
			s := brief()
			w.create(s)
			return s
		},
		cure: func(w *world, _ client.Object) { w.profilesOf().setFail("alice", nil) },
	},
	{
		name: "schedule", make: briefOf(), ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionScheduled: v1alpha1.ReasonScheduled},
		check: func(w *world, o client.Object) {
			if s := o.(*v1alpha1.Schedule); s.Status.NextRun == nil || s.Status.LastRun != nil || s.Status.Active {
				w.Errorf("status: %+v", s.Status)
			}
		},
	},
	{
		name: "schedule that is suspended", ready: no, reason: v1alpha1.ReasonSuspended,
		make: briefOf(func(s *v1alpha1.ScheduleSpec) { s.Suspend = true }),
		also: map[string]string{v1alpha1.ConditionScheduled: v1alpha1.ReasonSuspended}, events: []string{"Normal Suspended"},
		check: func(w *world, o client.Object) {
			if s := o.(*v1alpha1.Schedule); s.Status.NextRun != nil {
				w.Errorf("a suspended schedule has a next run: %+v", s.Status)
			}
		},
		cure: editBrief(func(s *v1alpha1.ScheduleSpec) { s.Suspend = false }),
	},
	{
		name: "schedule that has run", ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionScheduled: v1alpha1.ReasonCompleted},
		make: func(w *world) client.Object {
			s := briefOf(func(s *v1alpha1.ScheduleSpec) { s.Schedule = "in 5h" })(w)
			w.awaitReason(s, v1alpha1.ConditionScheduled, v1alpha1.ReasonScheduled)
			w.editJobs(`"state": "scheduled"`, `"state": "completed"`, `"enabled": true`, `"enabled": false`,
				`"last_run_at": null`, `"last_run_at": "2026-03-02T09:00:07Z"`, `"last_status": ""`, `"last_status": "ok"`, `"last_status": null`, `"last_status": "ok"`)
			return s
		},
		check: func(w *world, o client.Object) {
			s := o.(*v1alpha1.Schedule)
			if r := s.Status.LastRun; r == nil || r.Outcome != "Succeeded" || s.Status.NextRun != nil {
				w.Errorf("status: %+v", s.Status)
			}
			// Its record is cleared away one day. It is not run again for that.
			w.writeJobs(`{"jobs": []}`)
			w.settle()
			w.awaitReason(s, v1alpha1.ConditionScheduled, v1alpha1.ReasonCompleted)
			if _, ok := w.job(s); ok {
				w.Error("a job that is done was declared again")
			}
		},
	},
	badBrief("a text that is no schedule", v1alpha1.ReasonScheduleInvalid,
		func(s *v1alpha1.ScheduleSpec) { s.Schedule = "now and then" }, func(s *v1alpha1.ScheduleSpec) { s.Schedule = "every 2h" }),
	badBrief("an unknown zone", v1alpha1.ReasonTimezoneInvalid,
		func(s *v1alpha1.ScheduleSpec) { s.Timezone = "Europe/Atlantis" }, func(s *v1alpha1.ScheduleSpec) { s.Timezone = "Europe/Berlin" }),
	badBrief("a target that is none", v1alpha1.ReasonDeliverInvalid,
		func(s *v1alpha1.ScheduleSpec) { s.Deliver = []string{"slack:"} }, func(s *v1alpha1.ScheduleSpec) { s.Deliver = []string{"slack:C1"} }),
	badBrief("a time that has passed", v1alpha1.ReasonJobRefused,
		func(s *v1alpha1.ScheduleSpec) { s.Schedule = "2020-01-01T09:00" }, func(s *v1alpha1.ScheduleSpec) { s.Schedule = "2120-01-01T09:00" }),
	{
		name: "schedule over a broken job store", ready: no, reason: v1alpha1.ReasonJobStoreUnavailable, progress: stalled,
		also: map[string]string{v1alpha1.ConditionScheduled: v1alpha1.ReasonJobStoreUnavailable}, events: []string{"Warning JobStoreUnavailable"},
		make: func(w *world) client.Object {
			w.served()
			w.writeJobs("{ this is cut off")
			s := brief()
			w.create(s)
			return s
		},
		cure: func(w *world, _ client.Object) { w.writeJobs(`{"jobs": []}`) },
	},
}
