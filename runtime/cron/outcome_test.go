package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		id           string
		o            Outcome
		status, text string
		problemHolds string
	}{
		{"plain", Outcome{Text: " all fine \n"}, StatusOK, "all fine", ""},
		{"T-196 marker in a sentence", Outcome{Text: "All fine [SILENT] today"}, StatusOK, "All fine [SILENT] today", ""},
		{"T-196 marker on the last line", Outcome{Text: "All fine\n [silent] "}, StatusOK, "", ""},
		{"C-230 marker on the first line", Outcome{Text: "NO_REPLY\nnothing new"}, StatusOK, "", ""},
		{"C-230 marker is all", Outcome{Text: "No Reply"}, StatusOK, "", ""},
		{"C-230 marker in the middle line", Outcome{Text: "a\nSILENT\nb"}, StatusOK, "a\nSILENT\nb", ""},
		{"C-230 a failure is never silent", Outcome{Text: "[SILENT]", Err: errors.New("boom")}, StatusError, "boom", "boom"},
		{"T-197 failure marker", Outcome{Text: "[CRON_FAILURE]\nno access"}, StatusError, "no access", "no access"},
		{"T-197 failure marker quoted", Outcome{Text: "it printed\n[CRON_FAILURE]\nbut fine"}, StatusOK, "it printed\n[CRON_FAILURE]\nbut fine", ""},
		{"T-197 failure marker of a script", Outcome{Text: "[CRON_FAILURE]\nx", Script: true}, StatusOK, "[CRON_FAILURE]\nx", ""},
		{"C-230 empty answer", Outcome{Text: "  "}, StatusError, "the agent ended without an answer", "without an answer"},
		{"C-230 empty script", Outcome{Script: true}, StatusOK, "", ""},
		{"blocked", Outcome{Blocked: "no key"}, StatusBlocked, "no key", "no key"},
	} {
		r := judge(c.o)
		if r.status != c.status || r.text != c.text || !strings.Contains(r.problem, c.problemHolds) || (r.problem == "") != r.succeeded {
			t.Errorf("%s: got %+v", c.id, r)
		}
	}
}

func TestWakesAgentC230(t *testing.T) {
	for text, want := range map[string]bool{"": true, "x\n{\"wakeAgent\":false}": false, "{\"wakeAgent\":false}\nx": true, `{"wakeAgent":true}`: true, `{"other":1}`: true, "{": true} {
		if WakesAgent(text) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestUnreachableLadderT122(t *testing.T) {
	now := utc(t, "2026-03-02T09:00:05Z")
	s := DefaultSettings()
	down := Outcome{Err: errors.New("dns"), Unreachable: true}
	j := daily("2026-03-03T09:00:00Z")
	j.LastDispatch = &Dispatch{ScheduledAt: mustInstant("2026-03-02T09:00:00Z")}
	for i, want := range []time.Duration{300 * time.Second, 900 * time.Second, 1800 * time.Second, 0} {
		r := judge(down)
		j = recordRun(j, &r, now, s)
		if want == 0 {
			if j.UnreachableRetry != nil || !j.NextRunAt.Equal(mustInstant("2026-03-03T09:00:00Z").Time) || r.withheld {
				t.Errorf("T-122: after the ladder: %+v", j)
			}
			break
		}
		if !j.NextRunAt.Equal(now.Add(want)) || !r.withheld || j.UnreachableRetry.Attempt != i+1 {
			t.Fatalf("T-122: step %d: next is %s, %+v", i+1, j.NextRunAt, j.UnreachableRetry)
		}
		now = j.NextRunAt.Add(5 * time.Second)
		v := look(now)
		verdict := evaluate(j, v)
		if verdict.fire == nil || !verdict.job.LastDispatch.ScheduledAt.Equal(mustInstant("2026-03-02T09:00:00Z").Time) {
			t.Fatalf("the retry does not fire or forgets its occurrence: %+v", verdict.job.LastDispatch)
		}
		j = verdict.job
		j.PendingSlot = nil
	}

	every10 := Job{ID: "i", Enabled: true, State: StateScheduled, Schedule: Schedule{Kind: Interval, Minutes: 10}, NextRunAt: At(now.Add(600 * time.Second)), UnreachableRetry: &UnreachableRetry{1}}
	r := judge(down)
	every10 = recordRun(every10, &r, now, s)
	if every10.UnreachableRetry != nil || !every10.NextRunAt.Equal(now.Add(600*time.Second)) {
		t.Errorf("T-123: got %+v", every10)
	}
	reached := judge(Outcome{Err: errors.New("x"), Unreachable: true, APICalls: 1})
	if got := recordRun(daily("2026-03-03T09:00:00Z"), &reached, now, s); got.UnreachableRetry != nil {
		t.Error("C-139: a run that reached the model is retried")
	}
	s.RetryUnreachable = false
	if got := recordRun(daily("2026-03-03T09:00:00Z"), &r, now, s); got.UnreachableRetry != nil {
		t.Error("C-139: retried although switched off")
	}
}

func TestQuotaHoldT124(t *testing.T) {
	now := utc(t, "2026-03-02T10:05:00Z")
	for _, c := range []struct {
		schedule Schedule
		want     string
	}{
		{Schedule{Kind: Interval, Minutes: 30}, "2026-03-02T12:06:00Z"},
		{Schedule{Kind: Cron, Expr: "0 * * * *"}, "2026-03-02T13:00:00Z"},
	} {
		r := judge(Outcome{Err: errors.New("quota"), QuotaWait: 7200 * time.Second})
		j := recordRun(Job{Enabled: true, Schedule: c.schedule, NextRunAt: At(now.Add(time.Minute))}, &r, now, DefaultSettings())
		if !j.NextRunAt.Equal(utc(t, c.want)) || !j.QuotaHoldUntil.Equal(now.Add(7260*time.Second)) {
			t.Errorf("T-124 %s: parked until %s, hold %s", c.schedule.Kind, j.NextRunAt, j.QuotaHoldUntil)
		}
	}
}

func TestRecordRunC138(t *testing.T) {
	s, now := DefaultSettings(), testStart
	bad, good := judge(Outcome{Err: errors.New("x")}), judge(Outcome{Text: "y"})
	j := daily("2026-12-01T09:00:00Z")
	for range 3 {
		j = recordRun(j, &bad, now, s)
	}
	if j.FailureStreak != 3 || !strings.Contains(notice(j, bad, s), "3 times in a row") {
		t.Errorf("streak: %d", j.FailureStreak)
	}
	if j = recordRun(j, &good, now, s); j.FailureStreak != 0 || j.LastStatus != StatusOK || j.LastError != "" {
		t.Errorf("after a success: %+v", j)
	}
	three := 3
	finite := with(daily("2026-12-01T09:00:00Z"), func(j *Job) { j.Repeat = Repeat{Times: &three, Completed: 2} })
	if finite = recordRun(finite, &good, now, s); finite.State != StateCompleted || finite.Enabled || !finite.NextRunAt.IsZero() {
		t.Errorf("C-109: %+v", finite)
	}
	if once := recordRun(oneShot("2026-11-29T12:00:00Z"), &good, now, s); once.State != StateCompleted || once.Enabled || !once.NextRunAt.IsZero() {
		t.Errorf("C-112: %+v", once)
	}
}

func TestTellC231(t *testing.T) {
	now := testStart
	known := &Incident{AlertedAt: now.Add(-time.Hour)}
	for _, c := range []struct {
		id     string
		known  *Incident
		repeat time.Duration
		want   bool
	}{
		{"first", nil, 6 * time.Hour, true},
		{"T-199 repeats within the hours", known, 6 * time.Hour, false},
		{"repeats after the hours", known, time.Hour, true},
		{"no withholding", known, 0, true},
		{"acknowledged", &Incident{Acknowledged: true, AlertedAt: now.AddDate(-1, 0, 0)}, time.Hour, false},
	} {
		if got := tell(c.known, now, c.repeat); got != c.want {
			t.Errorf("%s: %v", c.id, got)
		}
	}
	same := signature("Request 123 to 10.0.0.1:80 failed after 5s (id 0xff, 550e8400-e29b-41d4-a716-446655440000)")
	if other := signature("request  9 to 10.0.0.2:443 failed after 70s (id 0x1, 6fa459ea-ee8a-4ca4-894e-db77e160355e)"); same != other {
		t.Errorf("%q is not %q", same, other)
	}
	if signature("no such file") == signature("permission denied") {
		t.Error("different errors are one incident")
	}
}
