//go:build unix

package cron

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// fileClock tells the time that another process wrote into a file. Now and then it kills its process instead: it is asked
// in the middle of everything, so that is where the process ends. Timers are real.
type fileClock struct {
	clock.RealClock
	path  string
	grave int // one call in so many is the last; 0 for none
}

func (c fileClock) Now() time.Time {
	if c.grave > 0 && rand.IntN(c.grave) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	content, err := os.ReadFile(c.path)
	if err != nil {
		panic(err)
	}
	unix, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	if err != nil {
		panic(err)
	}
	return time.Unix(unix, 0).UTC()
}

func (c fileClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// pidLife asks the kernel. The parent reaps at once, so no zombie passes for a living process.
func pidLife(pid int, _ int64) Life {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return LifeDead
	}
	return LifeAlive
}

// effects writes each run that begins as one line of one file, which all processes append to.
type effects struct {
	file *os.File
}

func (e effects) Run(ctx context.Context, r Run) Outcome {
	dispatched := time.Time{}
	if r.Job.LastDispatch != nil {
		dispatched = r.Job.LastDispatch.DispatchedAt.Time
	}
	if _, err := fmt.Fprintf(e.file, "%s %d %d\n", r.Job.ID, r.Occurrence.Unix(), dispatched.Unix()); err != nil {
		return Outcome{Err: err}
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond):
	}
	if rand.IntN(10) == 0 {
		return Outcome{Err: errors.New("bad luck"), APICalls: 1}
	}
	return Outcome{Text: "SILENT"}
}

func (effects) Deliver(context.Context, Target, string, bool) (Receipt, error) {
	return Receipt{}, nil
}

// runChild is a gateway on the store in args[0] with the clock in args[1] and the effects in args[2]. In role "tick" it
// ticks until it is killed; in role "drain" until nothing is owed, and then ends well.
func runChild(role string, args []string) int {
	file, err := os.OpenFile(args[2], os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	settings := DefaultSettings()
	settings.CatchUpMissed = args[3] == "catch-up"
	settings.FailureRepeat = time.Hour
	c := fileClock{path: args[1], grave: 600}
	if role == "drain" {
		c.grave = 0
	}
	store, err := Open(args[0], Options{Clock: c, Settings: func() Settings { return settings },
		Owner: Owner{Host: "model", PID: os.Getpid(), Life: pidLife}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := NewScheduler(store, SchedulerOptions{Runner: effects{file}, Deliverer: effects{file}, CatchUpSpread: -1})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ticks := 0
	for quiet := 0; role == "tick" || quiet < 3; {
		n, err := s.Tick(context.Background())
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if role == "drain" {
			s.workers.Wait()
		}
		if quiet++; n > 0 {
			quiet = 0
		}
		if ticks++; role == "drain" && ticks > 500 {
			fmt.Println("something is owed for ever")
			return 1
		}
		<-time.After(4 * time.Millisecond)
	}
	return 0
}
