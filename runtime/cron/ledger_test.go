package cron

import (
	"fmt"
	"testing"
	"time"
)

func TestLedgerTransitionsC161(t *testing.T) {
	f := newFixture(t)
	other := f.other(t, testOwner(77))
	id, err := f.ledger.begin(t.Context(), firing{id: "j", slot: At(testStart)}, sourceTick)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.ledger.start(t.Context(), id); err == nil {
		t.Error("another process starts it")
	}
	if err := other.AdoptHandoff(t.Context(), id); err == nil {
		t.Error("adopted without an offer")
	}
	if err := f.OfferHandoff(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := other.AdoptHandoff(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := f.ledger.start(t.Context(), id); err == nil {
		t.Error("started after it was adopted")
	}
	if err := other.ledger.finish(t.Context(), id, ExecutionRunning, ExecutionCompleted, "", "sent"); err != nil {
		t.Error(err)
	}
	if err := other.ledger.finish(t.Context(), id, ExecutionCompleted, ExecutionFailed, "late news", ""); err == nil {
		rows, _ := f.Executions(t.Context(), "j", 1)
		if len(rows) != 1 || rows[0].Status != ExecutionFailed {
			t.Error("a terminal row was not found")
		}
	}
}

func TestLostRowsC162(t *testing.T) {
	now := testStart
	s := DefaultSettings()
	for _, c := range []struct {
		id   string
		row  activeRow
		set  func(*Settings)
		lost bool
	}{
		{"T-149 dead owner", activeRow{processID: "x", pid: 9001, from: now}, nil, true},
		{"own", activeRow{processID: "me", pid: 9001, from: now}, nil, false},
		{"living owner", activeRow{processID: "x", pid: 77, from: now.Add(-7200 * time.Second)}, nil, false},
		{"living owner, too old", activeRow{processID: "x", pid: 77, from: now.Add(-7201 * time.Second)}, nil, true},
		{"longer scripts", activeRow{processID: "x", pid: 77, from: now.Add(-7201 * time.Second)}, func(s *Settings) { s.ScriptTimeout = 3 * time.Hour }, false},
		{"inactivity 0: never by age", activeRow{processID: "x", pid: 77, from: now.AddDate(-1, 0, 0)}, func(s *Settings) { s.Inactivity = 0 }, false},
		{"inactivity 0: still by death", activeRow{processID: "x", pid: 9001, from: now}, func(s *Settings) { s.Inactivity = 0 }, true},
		{"C-161 handed over just now", activeRow{processID: "x", pid: 9001, from: now, handoff: true, handoffAt: now.Add(-29 * time.Second)}, nil, false},
		{"C-161 handed over to nobody", activeRow{processID: "x", pid: 9001, from: now, handoff: true, handoffAt: now.Add(-30 * time.Second)}, nil, true},
	} {
		settings := s
		if c.set != nil {
			c.set(&settings)
		}
		if got := lostRow(c.row, testOwner(1000), "me", now, settings); (got != "") != c.lost {
			t.Errorf("%s: got %q", c.id, got)
		}
	}
}

func TestRecoveryMarksUnknownT149(t *testing.T) {
	f := newFixture(t)
	dead := f.other(t, testOwner(9001))
	id, err := dead.ledger.begin(t.Context(), firing{id: "j", slot: At(testStart)}, sourceTick)
	if err == nil {
		err = dead.ledger.start(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.ledger.recover(t.Context(), f.settings); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	rows, err := f.Executions(t.Context(), "", 10)
	if err != nil || len(rows) != 1 || rows[0].Status != ExecutionUnknown || rows[0].Error == "" {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := dead.ledger.finish(t.Context(), id, ExecutionRunning, ExecutionCompleted, "", ""); err == nil {
		t.Error("C-160: a terminal row changed")
	}
}

func TestLedgerKeepsNewestC160(t *testing.T) {
	f := newFixture(t)
	active, err := f.ledger.begin(t.Context(), firing{id: "active"}, sourceTick)
	if err != nil {
		t.Fatal(err)
	}
	db, err := f.ledger.db(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range keptExecutions + 20 {
		at := testStart.Add(time.Duration(i) * time.Second).Format(ledgerLayout)
		if _, err := x.Exec(`INSERT INTO executions (id,job_id,source,process_id,pid,process_started_at,status,claimed_at,finished_at)
			VALUES (?,'j','s','p',1,1,'completed',?,?)`, fmt.Sprint(i), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.ledger.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := f.Executions(t.Context(), "", 5000)
	if err != nil || len(rows) != keptExecutions+1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if rows[0].ID != fmt.Sprint(keptExecutions+19) || rows[len(rows)-1].ID != active && rows[len(rows)-2].ID != active {
		t.Error("the wrong rows were pruned")
	}
}
