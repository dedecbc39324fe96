package profile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
	"hermes.dev/hermes/test/wallclock"
)

// cronRig is a profile with a job that is due every minute, and a clock that a test sets.
type cronRig struct {
	*rig
	clock *wallclock.Clock
}

func newCronRig(t *testing.T) cronRig {
	t.Helper()
	c := &wallclock.Clock{}
	return cronRig{newRig(t, func(o *Options) { o.Clock = c }), c}
}

func (r cronRig) create(n cron.NewJob) cron.Job {
	r.t.Helper()
	if n.Schedule == "" {
		n.Schedule = "every 1m"
	}
	jobs, err := r.runtime.Jobs()
	must(r.t, err)
	j, err := jobs.Create(ctx(r.t), n)
	must(r.t, err)
	return j
}

func (r cronRig) tick(want int) {
	r.t.Helper()
	n, err := r.runtime.TickJobs(ctx(r.t), true)
	must(r.t, err)
	if n != want {
		r.t.Fatalf("%d jobs were handed out, want %d", n, want)
	}
}

func (r cronRig) runs(id string) []cron.Execution {
	r.t.Helper()
	jobs, err := r.runtime.Jobs()
	must(r.t, err)
	list, err := jobs.Executions(ctx(r.t), id, 100)
	must(r.t, err)
	return list
}

func (r cronRig) job(ref string) cron.Job {
	r.t.Helper()
	jobs, err := r.runtime.Jobs()
	must(r.t, err)
	j, err := jobs.Job(ref)
	must(r.t, err)
	return j
}

func toolNames(t *testing.T, c fakemodel.Chat) []string {
	t.Helper()
	var names []string
	for _, raw := range c.Tools {
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		must(t, json.Unmarshal(raw, &tool))
		names = append(names, tool.Function.Name)
	}
	return names
}

// TestCronRun: a due job is a turn in a fresh session of source cron, once for each time it is due.
func TestCronRun(t *testing.T) {
	r := newCronRig(t)
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Text("it rains") })
	j := r.create(cron.NewJob{Name: "weather", Prompt: "what is the weather"})
	r.tick(0)
	r.clock.Step(61 * time.Second)
	r.tick(1)
	r.tick(0)
	r.clock.Step(60 * time.Second)
	r.tick(1)
	if runs := r.runs(j.ID); len(runs) != 2 || runs[0].Status != cron.ExecutionCompleted || runs[1].Status != cron.ExecutionCompleted {
		t.Fatalf("ledger: %+v", runs)
	}
	jobs, _ := r.runtime.Jobs()
	outputs, err := jobs.Outputs(j.ID)
	must(t, err)
	if raw, err := os.ReadFile(outputs[0]); err != nil || !strings.Contains(string(raw), "it rains") {
		t.Errorf("output %q: %v", raw, err)
	}
	list, err := r.runtime.Sessions(ctx(t), store.ListOptions{Source: "cron"})
	must(t, err)
	if len(list) != 2 || list[0].EndReason != endScheduled {
		t.Errorf("sessions of runs: %+v", list)
	}
	last := r.model.Requests()[0].Parsed.Decoded()
	if text := last[len(last)-1].Content; !strings.Contains(text, "Nobody is present") || !strings.HasSuffix(text, "what is the weather") {
		t.Errorf("the model was told %q", text)
	}
}

// TestC235Tools: a run has the tools of hermes-cron, or those of its job, and never what waits for a person.
func TestC235Tools(t *testing.T) {
	r := newCronRig(t)
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Text("done") })
	r.create(cron.NewJob{Name: "plain", Prompt: "a"})
	r.create(cron.NewJob{Name: "narrow", Prompt: "b", EnabledToolsets: []string{"todo", "clarify"}})
	all := r.create(cron.NewJob{Name: "all", Prompt: "c", EnabledToolsets: []string{"all"}})
	r.clock.Step(61 * time.Second)
	r.tick(3)
	if got := r.job(all.ID); got.LastStatus != cron.StatusBlocked || !strings.Contains(got.LastError, "name its toolsets") {
		t.Errorf("a job with all tools: %s %s", got.LastStatus, got.LastError)
	}
	requests := r.model.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, q := range requests {
		names := toolNames(t, q.Parsed)
		if slices.Contains(names, "clarify") || slices.Contains(names, "memory_manage") {
			t.Errorf("a run has %q", names)
		}
		said := q.Parsed.Decoded()
		narrow := strings.HasSuffix(said[len(said)-1].Content, "b")
		if narrow && !slices.Equal(names, []string{"todo_list"}) || !narrow && !slices.Contains(names, "terminal") {
			t.Errorf("narrow=%v: %q", narrow, names)
		}
	}
}

// TestC235Model: a pinned model goes to the profile's server; one of another server is refused before anything is sent.
func TestC235Model(t *testing.T) {
	r := newCronRig(t)
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Text("done") })
	r.create(cron.NewJob{Name: "pinned", Prompt: "a", Model: "fake-2"})
	other := r.create(cron.NewJob{Name: "other", Prompt: "b", Model: "x", Provider: "anthropic"})
	r.clock.Step(61 * time.Second)
	r.tick(2)
	if q := r.model.Requests(); len(q) != 1 || q[0].Parsed.Model != "fake-2" {
		t.Errorf("requests %+v", q)
	}
	if got := r.job(other.ID); got.LastStatus != cron.StatusBlocked || !strings.Contains(got.LastError, "spec.model.fallbacks") {
		t.Errorf("a model of another server: %s %s", got.LastStatus, got.LastError)
	}
}

// TestCronModelPick: C-235, job pin, then cron.model, then the profile's.
func TestCronModelPick(t *testing.T) {
	s := settings{modelRoute: modelRoute{provider: "openai", model: "main"}, fallbacks: []modelRoute{{provider: "anthropic", model: "spare"}}}
	for name, c := range map[string]struct {
		config string
		job    cron.Job
		want   *modelPick
	}{
		"the profile's":       {"", cron.Job{}, nil},
		"cron.model":          {"cron: {model: small}", cron.Job{}, &modelPick{modelRoute: modelRoute{provider: "openai", model: "small"}}},
		"of a provider":       {"cron: {model: small, model_provider: anthropic}", cron.Job{}, &modelPick{modelRoute: modelRoute{provider: "anthropic", model: "small"}, key: 1}},
		"the pin comes first": {"cron: {model: small}", cron.Job{Model: "big"}, &modelPick{modelRoute: modelRoute{provider: "openai", model: "big"}, alone: true}},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := home.ParseConfig([]byte(c.config))
			must(t, err)
			got, err := cronModel(config, s, c.job)
			must(t, err)
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestCronSettings: the keys of config.yaml, which the Profile's spec.cron is rendered into.
func TestCronSettings(t *testing.T) {
	config, err := home.ParseConfig([]byte("timezone: Europe/Berlin\ncron: {max_parallel_jobs: 2, catch_up_missed: false, output_retention: 3, inactivity_timeout_seconds: 5}"))
	must(t, err)
	s, err := readCronSettings(config)
	must(t, err)
	if s.Zone.String() != "Europe/Berlin" || s.MaxParallelJobs != 2 || s.CatchUpMissed || s.OutputRetention != 3 || s.Inactivity != 5*time.Second || !s.RetryUnreachable {
		t.Errorf("%+v", s)
	}
}

// TestCronDelivery: C-232, the answer becomes a row of the session that the job delivers to.
func TestCronDelivery(t *testing.T) {
	r := newCronRig(t)
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Text("the report") })
	r.mustSay("talk", "hello")
	j := r.create(cron.NewJob{Name: "report", Prompt: "report", Origin: &cron.Origin{Platform: PlatformSession, ChatID: "talk"}})
	gone := r.create(cron.NewJob{Name: "gone", Prompt: "report", Deliver: "session:nowhere"})
	r.clock.Step(61 * time.Second)
	r.tick(2)
	_, rows, _, err := r.runtime.Session(ctx(t), "talk")
	must(t, err)
	if last := rows[len(rows)-1]; last.Role != "user" || !strings.HasSuffix(last.Content, "the report") || !strings.HasPrefix(last.Content, "[A scheduled job") {
		t.Errorf("last row %s %q", last.Role, last.Content)
	}
	if got := r.job(j.ID); got.LastStatus != cron.StatusOK {
		t.Errorf("%s: %s", got.LastStatus, got.LastDeliveryError)
	}
	if got := r.job(gone.ID); got.LastStatus != cron.StatusDeliveryFailed {
		t.Errorf("a session that is gone: %s", got.LastStatus)
	}
	r.mustSay("talk", "and now?") // the conversation goes on behind it
}

// TestC163Close: a run that the profile's end cuts off is interrupted, in the job and in the ledger.
func TestC163Close(t *testing.T) {
	r := newCronRig(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Turn{Text: "late", Gate: hold} })
	j := r.create(cron.NewJob{Name: "slow", Prompt: "slow"})
	r.clock.Step(61 * time.Second)
	_, err := r.runtime.TickJobs(ctx(t), false)
	must(t, err)
	_, err = r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	must(t, r.runtime.Close(context.Background()))
	again, err := cron.Open(r.runtime.Paths().Home, cron.Options{Owner: cronOwner()})
	must(t, err)
	defer again.Close()
	got, err := again.Job(j.ID)
	must(t, err)
	runs, err := again.Executions(ctx(t), j.ID, 100)
	must(t, err)
	if got.LastStatus != cron.StatusInterrupted || len(runs) != 1 || !strings.Contains(runs[0].Error, "interrupted") {
		t.Errorf("job %s, ledger %+v", got.LastStatus, runs)
	}
}

// TestC236Idle: a run without a sign of life ends, however long it may take otherwise.
func TestC236Idle(t *testing.T) {
	c := &wallclock.Clock{}
	m := startModel(t)
	spec := profilehome.Model(m.URL(), "sk-alice")
	spec.Config["cron"] = map[string]any{"inactivity_timeout_seconds": 0.2}
	r := cronRig{openRig(t, m, t.TempDir(), "alice", spec, func(o *Options) { o.Clock = c }), c}
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	m.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Turn{Text: "late", Gate: hold} })
	j := r.create(cron.NewJob{Name: "stuck", Prompt: "stuck"})
	c.Step(61 * time.Second)
	r.tick(1)
	if got := r.job(j.ID); got.LastStatus != cron.StatusError || !strings.Contains(got.LastError, "no sign of life") {
		t.Errorf("%s: %s", got.LastStatus, got.LastError)
	}
}

// TestCronCostsNothing: a profile without jobs is not ticked, and nothing is made for it.
func TestCronCostsNothing(t *testing.T) {
	r := newCronRig(t)
	if _, ok := r.runtime.Ticked(); ok || r.runtime.jobs.scheduler != nil {
		t.Error("a profile without jobs is ticked")
	}
	if files, err := os.ReadDir(filepath.Join(r.runtime.Paths().Home, "cron")); err != nil || len(files) != 0 {
		t.Errorf("%v %v", files, err)
	}
	r.create(cron.NewJob{Name: "a", Prompt: "a"})
	if ticked, ok := r.runtime.Ticked(); !ok || ticked.Name != "alice" {
		t.Error("a profile with a job is not ticked")
	}
}

// TestCronjobManage: the agent schedules only when the profile says so; its job answers to where it was made, and a declared
// one is refused with whose it is.
func TestCronjobManage(t *testing.T) {
	c := &wallclock.Clock{}
	m := startModel(t)
	spec := profilehome.Model(m.URL(), "sk-alice")
	r := cronRig{openRig(t, m, t.TempDir(), "alice", spec, func(o *Options) { o.Clock = c }), c}
	m.Script(fakemodel.Text("no"))
	r.mustSay("talk", "remind me")
	if names := toolNames(t, m.Requests()[0].Parsed); slices.Contains(names, "cronjob_manage") {
		t.Fatalf("the agent may schedule without being let: %q", names)
	}
	spec.Config["cron"] = map[string]any{"allow_agent_scheduling": true}
	r.rewrite(spec)
	r.runtime.Reload()
	jobs, err := r.runtime.Jobs()
	must(t, err)
	_, _, err = jobs.Declare(ctx(t), "schedule/brief", cron.NewJob{Name: "brief", Prompt: "x", Schedule: "every 2h"})
	must(t, err)
	m.Script(
		fakemodel.Calls(call("1", "cronjob_manage", `{"action":"create","name":"tea","schedule":"in 5m","prompt":"say tea"}`), call("2", "cronjob_manage", `{"action":"remove","job":"brief"}`), call("3", "cronjob_manage", `{"action":"create","prompt":"x"}`)),
		fakemodel.Calls(call("4", "cronjob_manage", `{"action":"list"}`)),
		fakemodel.Text("it is set"), fakemodel.Text("tea!"),
	)
	r.mustSay("talk", "remind me in five minutes")
	_, rows, _, err := r.runtime.Session(ctx(t), "talk")
	must(t, err)
	answers := map[string]string{}
	for _, row := range rows {
		if row.Role == "tool" {
			answers[row.ToolCallID] = row.Content
		}
	}
	for id, want := range map[string]string{"1": "created", "2": "belongs to schedule/brief", "3": "create needs schedule", "4": "tea"} {
		if !strings.Contains(answers[id], want) {
			t.Errorf("call %s was answered %q, want %q", id, answers[id], want)
		}
	}
	c.Step(5*time.Minute + time.Second)
	r.tick(1)
	_, rows, _, err = r.runtime.Session(ctx(t), "talk")
	must(t, err)
	if last := rows[len(rows)-1]; !strings.HasSuffix(last.Content, "tea!") {
		t.Errorf("the reminder did not come back: %q", last.Content)
	}
}
