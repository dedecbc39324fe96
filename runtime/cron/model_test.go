//go:build unix

package cron

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// world is several real processes on one store, with a clock each, and a hand that kills them, starts them again and
// moves their clocks.
type world struct {
	t          *testing.T
	r          *rand.Rand
	home       string
	policy     string
	now, start time.Time
	store      *Store // a person's command line

	mu       sync.Mutex
	children map[int]*exec.Cmd // by slot
	kills    atomic.Int64
	reaping  sync.WaitGroup
	over     bool
}

const (
	modelProcesses = 3
	modelHours     = 9
)

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 99)), home: t.TempDir(), children: map[int]*exec.Cmd{}, policy: "catch-up"}
	if seed%3 == 0 {
		w.policy = "skip"
	}
	// New York's clocks go back at 06:00 UTC, Lord Howe's and London's changes are other nights.
	w.start = []time.Time{utc(t, "2026-11-01T03:30:00Z"), utc(t, "2026-03-08T05:00:00Z"), utc(t, "2026-04-04T12:30:00Z"), utc(t, "2026-10-24T22:30:00Z")}[seed%4]
	w.now = w.start
	for i := range modelProcesses {
		w.setClock(i, w.start)
	}
	w.setClock(modelProcesses, w.start)
	store, err := Open(w.home, Options{Clock: fileClock{path: w.clockPath(modelProcesses)}, Owner: Owner{Host: "model", PID: os.Getpid(), Life: pidLife}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w.store = store
	return w
}

func (w *world) clockPath(i int) string { return filepath.Join(w.home, fmt.Sprintf("clock%d", i)) }

func (w *world) setClock(i int, at time.Time) {
	temporary := w.clockPath(i) + ".tmp"
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%d", at.Unix()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(temporary, w.clockPath(i)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) command(role string, clock int) *exec.Cmd {
	cmd := exec.Command(os.Args[0], w.home, w.clockPath(clock), filepath.Join(w.home, "effects"), w.policy)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// spawn keeps one process running until the world is over.
func (w *world) spawn(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	cmd := w.command("tick", i)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		w.t.Error(err)
		return
	}
	w.children[i] = cmd
	w.reaping.Go(func() {
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			w.t.Errorf("process %d: %v: %s", i, err, out.String())
		}
		w.kills.Add(1)
		w.spawn(i)
	})
}

func (w *world) kill(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cmd := w.children[i]; cmd != nil {
		_ = cmd.Process.Kill()
	}
}

// live lets time pass until the hours are over.
func (w *world) live() {
	end := w.start.Add(modelHours * time.Hour)
	for i := range modelProcesses {
		w.spawn(i)
	}
	for w.now.Before(end) {
		step := time.Duration(5+w.r.IntN(60)) * time.Second
		switch w.r.IntN(120) {
		case 0:
			step = time.Duration(w.r.IntN(80)) * time.Minute // a jump ahead, or a night asleep
		case 1:
			step = -time.Duration(w.r.IntN(20)) * time.Minute // a clock set back
		}
		w.now = w.now.Add(step)
		for i := range modelProcesses + 1 {
			w.setClock(i, w.now.Add(time.Duration(w.r.IntN(5)-2)*time.Second))
		}
		if w.r.IntN(25) == 0 {
			w.kill(w.r.IntN(modelProcesses))
		}
		if w.r.IntN(40) == 0 { // a person at the command line
			if _, err := w.store.Create(w.t.Context(), NewJob{Prompt: "bystander", Schedule: "0 0 1 1 *"}); err != nil {
				w.t.Error(err)
			}
		}
		<-time.After(8 * time.Millisecond)
	}
	w.mu.Lock()
	w.over = true
	for _, cmd := range w.children {
		_ = cmd.Process.Kill()
	}
	w.mu.Unlock()
	w.reaping.Wait()
	// Stamps of the dead and claims of the cut off have an age by now, and one process that nobody kills pays what is owed.
	w.now = w.now.Add(10 * time.Minute)
	w.setClock(0, w.now)
	if out, err := w.command("drain", 0).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	w.setClock(modelProcesses, w.now)
}

// run is one line of the effects.
type effect struct{ slot, dispatched int64 }

func (w *world) effects() map[string][]effect {
	file, err := os.Open(filepath.Join(w.home, "effects"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	found := map[string][]effect{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var id string
		var e effect
		if _, err := fmt.Sscan(lines.Text(), &id, &e.slot, &e.dispatched); err != nil {
			w.t.Fatal(err)
		}
		found[id] = append(found[id], e)
	}
	return found
}

// modelExpression is one that has something to do in most hours of a night.
func modelExpression(r *rand.Rand) string {
	minute := []string{"*/15", "0,30", "*/10", "7,37", "55", "10-20/5"}[r.IntN(6)]
	hour := []string{"*", "*", "*", "*/2", "0-3,12-23"}[r.IntN(5)]
	return minute + " " + hour + " * * " + []string{"*", "*", "5-7"}[r.IntN(3)]
}

// TestModelOfManyProcesses is the claim protocol against the world: with processes killed anywhere, clocks that differ
// and jump, and nights on which clocks change, each occurrence runs at most once, and at least once unless the ledger says
// why it did not or one catch-up run stands for it.
func TestModelOfManyProcesses(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2, 3, 4}
	if testing.Short() {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			zones := []string{"", "America/New_York", "Australia/Lord_Howe", "Europe/London", "Asia/Kathmandu"}
			var jobs []Job
			for i := range 6 {
				text := modelExpression(w.r)
				if i == 0 {
					text = "30 1 * * *"
				}
				if i == 5 {
					text = "every 11m"
				}
				zone := zones[w.r.IntN(len(zones))]
				if i == 0 {
					zone = "America/New_York"
				}
				job, err := w.store.Create(t.Context(), NewJob{Prompt: text, Schedule: text, Zone: zone})
				if err != nil {
					t.Fatal(err)
				}
				jobs = append(jobs, job)
			}
			w.live()
			w.check(jobs)
		})
	}
}

func (w *world) check(jobs []Job) {
	effects := w.effects()
	rows, err := w.store.Executions(w.t.Context(), "", 5000)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(rows) >= keptExecutions {
		w.t.Fatal("the ledger was pruned: the model has too many runs to be checked")
	}
	runs, checked, byLedger, stoodFor := 0, 0, 0, 0
	for _, job := range jobs {
		ran, noted := map[int64]bool{}, map[int64]bool{}
		type span struct{ from, to int64 }
		var covered []span
		for _, e := range effects[job.ID] {
			if ran[e.slot] {
				w.t.Errorf("%s (%s %s): occurrence %s ran twice", job.ID, job.Prompt, job.Schedule.Zone, time.Unix(e.slot, 0).UTC())
			}
			ran[e.slot] = true
			covered = append(covered, span{e.slot, e.dispatched})
			runs++
		}
		started := map[int64]int{}
		for _, row := range rows {
			if row.JobID != job.ID || row.Scheduled.IsZero() {
				continue
			}
			slot := row.Scheduled.Unix()
			if !row.StartedAt.IsZero() {
				if started[slot]++; started[slot] > 1 {
					w.t.Errorf("%s: the ledger has two runs of %s", job.ID, row.Scheduled)
				}
			}
			switch row.Status {
			case ExecutionCompleted, ExecutionUnknown, ExecutionSkipped:
				noted[slot] = true
				covered = append(covered, span{slot, row.ClaimedAt.Unix()})
			case ExecutionClaimed, ExecutionRunning:
				w.t.Errorf("%s: a row of a dead process is still %s", job.ID, row.Status)
			}
		}
		at := w.start
		for job.Schedule.Kind == Cron {
			next, ok := job.Schedule.Next(at, at, time.UTC)
			if !ok || next.After(w.now) {
				break
			}
			at = next
			checked++
			slot := next.Unix()
			stands := false
			for _, s := range covered {
				stands = stands || (s.from < slot && slot <= s.to)
			}
			switch {
			case ran[slot]:
			case noted[slot]:
				byLedger++
			case stands:
				stoodFor++
			default:
				w.t.Errorf("%s (%s %s): occurrence %s neither ran nor is it said why", job.ID, job.Prompt, job.Schedule.Zone, next.UTC())
			}
		}
		if job.Schedule.Kind == Interval && len(ran) < 10 {
			w.t.Errorf("the interval ran %d times", len(ran))
		}
	}
	w.t.Logf("%d kills, %d runs, %d occurrences: %d only in the ledger, %d covered by another run", w.kills.Load(), runs, checked, byLedger, stoodFor)
	if w.kills.Load() < 20 || runs < 60 || checked < 40 {
		w.t.Error("the world was too quiet to prove anything")
	}
	all, err := w.store.Jobs()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, job := range all {
		if job.PendingSlot != nil {
			w.t.Errorf("%s still owes %s", job.ID, job.PendingSlot.ScheduledAt)
		}
	}
}
