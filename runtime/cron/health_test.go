package cron

import (
	"strings"
	"testing"
	"time"
)

func TestJudgeHealthC201(t *testing.T) {
	now := testStart
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	yield := (&StaleCodeError{"A", "B"}).Error()
	for _, c := range []struct {
		id   string
		m    Markers
		want Verdict
		says string
	}{
		{"T-180", Markers{Heartbeat: ago(10)}, Healthy, "10s"},
		{"C-201 all fresh", Markers{Heartbeat: ago(200), Success: ago(200)}, Healthy, ""},
		{"T-181", Markers{Heartbeat: ago(10), Error: "boom"}, Failing, "yet: boom"},
		{"T-182", Markers{Heartbeat: ago(10), Error: yield, Success: ago(5)}, StaleCode, "code A while B"},
		{"T-184", Markers{Success: ago(1), Error: "x"}, NotReported, "not reported yet"},
		{"C-201 stalled", Markers{Heartbeat: ago(201), Error: yield}, Stalled, "3m21s"},
		{"C-201 nothing succeeded", Markers{Heartbeat: ago(1), Success: ago(201), Error: "open x: permission denied"}, Failing, "somebody else"},
		{"C-201 descriptors", Markers{Heartbeat: ago(1), Success: ago(201), Error: "too many open files"}, Failing, "limit of open files"},
	} {
		got := Judge(c.m, now)
		if got.Verdict != c.want || !strings.Contains(got.Message, c.says) || (got.Remedy == "") != (c.want == Healthy) {
			t.Errorf("%s: got %+v", c.id, got)
		}
	}
}

func TestOwnershipT158(t *testing.T) {
	for _, c := range []struct {
		lock, ticked, want bool
	}{{true, false, false}, {false, true, false}, {true, true, true}} {
		homes := []string{"/other"}
		if c.ticked {
			homes = append(homes, "/h")
		}
		if got := OwnsTick(c.lock, "/h", homes); got != c.want {
			t.Errorf("T-158 %+v: %v", c, got)
		}
	}
}

func TestLiveGatewayT159(t *testing.T) {
	now := testStart
	base := func() GatewayProbe {
		return GatewayProbe{LockHeld: true, RunningPID: 7, Record: &GatewayRecord{PID: 7, Home: "/root", Served: []string{"coder"}, UpdatedAt: now.Add(-120 * time.Second)}}
	}
	for _, c := range []struct {
		id      string
		change  func(*GatewayProbe)
		profile string
		want    bool
	}{
		{"T-159 lists it", nil, "coder", true},
		{"T-159 does not list it", nil, "ops", false},
		{"C-191 its own home", func(p *GatewayProbe) { p.Record.Home = "/h" }, "ops", true},
		{"T-160 old", func(p *GatewayProbe) { p.Record.UpdatedAt = now.Add(-121 * time.Second) }, "coder", false},
		{"T-160 another pid", func(p *GatewayProbe) { p.Record.PID = 8 }, "coder", false},
		{"T-160 we hold the lock", func(p *GatewayProbe) { p.HoldsLock = true }, "coder", false},
		{"C-191 nobody holds it", func(p *GatewayProbe) { p.LockHeld = false }, "coder", false},
		{"C-191 pid unknown", func(p *GatewayProbe) { p.RunningPID, p.Record.PID = 0, 0 }, "coder", false},
		{"C-191 no record", func(p *GatewayProbe) { p.Record = nil }, "coder", false},
		{"C-191 from the future", func(p *GatewayProbe) { p.Record.UpdatedAt = now.Add(time.Second) }, "coder", false},
	} {
		p := base()
		if c.change != nil {
			c.change(&p)
		}
		if got := LiveGatewayTicking(p, "/h", c.profile, now); (got != nil) != c.want {
			t.Errorf("%s: %+v", c.id, got)
		}
	}
}

func TestYieldT161(t *testing.T) {
	holder := func(sha string) *GatewayRecord { return &GatewayRecord{CodeSHA: sha} }
	for _, c := range []struct {
		id, boot, disk string
		owns           bool
		holder         *GatewayRecord
		want           bool
	}{
		{"T-161 holder has the installed code", "A", "B", false, holder("B"), true},
		{"T-161 holder is as stale", "A", "B", false, holder("A"), false},
		{"T-161 holder does not say", "A", "B", false, holder(""), false},
		{"C-192 nobody else", "A", "B", false, nil, false},
		{"C-192 we own the tick", "A", "B", true, holder("B"), false},
		{"T-162 same code", "B", "B", false, holder("B"), false},
		{"T-162 unknown", "A", "", false, holder(""), false},
		{"T-162 boot unknown", "", "B", false, holder("B"), false},
	} {
		err := Yield(c.boot, c.disk, c.owns, c.holder)
		if (err != nil) != c.want {
			t.Errorf("%s: %v", c.id, err)
		}
		if err != nil {
			if back, ok := ParseStaleCode("x: " + err.Error()); !ok || *back != (StaleCodeError{"A", "B"}) {
				t.Errorf("C-193: %+v, %v from %q", back, ok, err)
			}
		}
	}
}

func TestEarliestRunT185(t *testing.T) {
	now := utc(t, "2026-03-02T09:00:00Z")
	a := with(daily("2026-03-02T12:00:00+02:00"), func(j *Job) { j.ID = "a" })
	b := with(daily("2026-03-02T11:00:00+00:00"), func(j *Job) { j.ID = "b" })
	off := with(daily("2026-03-02T01:00:00+00:00"), func(j *Job) { j.Enabled = false })
	if got, ok := EarliestRun([]Job{b, off, a}, now); !ok || got.Job.ID != "a" || got.Overdue != 0 {
		t.Errorf("T-185: %+v", got)
	}
	late := daily("2026-03-02T08:44:59Z")
	if got, _ := EarliestRun([]Job{late}, now); got.Overdue != 901*time.Second {
		t.Errorf("C-203: %s", got.Overdue)
	}
	if Overdue(daily("2026-03-02T08:45:00Z"), now) != 0 {
		t.Error("C-203: 900 s is overdue")
	}
}
