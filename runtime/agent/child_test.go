package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// childSpec tells a killed-to-be process what to do.
type childSpec struct {
	Dir, ModelURL string
	// BlockOn is the event after which the process hangs, holding everything as it is.
	BlockOn string
	// Steer is said to the turn when its first tool starts.
	Steer string
	// Walk runs the scripted session of TestKillAtRandomPoints, or what is left of it.
	Walk bool
}

// childTurn runs one turn in a process of its own: real store, real tools, one of which leaves a mark outside and then
// never returns.
func childTurn(spec string) {
	var s childSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		panic(err)
	}
	ctx := context.Background()
	loop, st := childLoop(s, markTool(s.Dir))
	if s.Walk {
		walk(loop, st)
		return
	}
	mailbox := agent.NewSteering(st, "s")
	_, err := loop.Run(ctx, agent.Turn{SessionID: "s", Source: "cli", UserText: "do it", Steering: mailbox}, func(e agent.Event) {
		if s.Steer != "" && e.Kind == agent.EventToolStart {
			if ok, err := mailbox.Add(ctx, s.Steer); ok && err == nil {
				fmt.Println("steered")
			}
			s.Steer = ""
		}
		line := string(e.Kind)
		if e.Tool != nil {
			line += " " + e.Tool.CallID
		}
		fmt.Println(line)
		if line == s.BlockOn {
			fmt.Println("blocked")
			select {}
		}
	})
	fmt.Println("ended", err)
}

// childLoop is everything a turn needs, in a process of its own.
func childLoop(s childSpec, marks tools.Tool) (*agent.Loop, *store.Store) {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	if s.Walk {
		marks = noteTool(s.Dir)
	}
	st, err := store.Open(ctx, filepath.Join(s.Dir, "state.db"), store.Options{Log: logr.Discard()})
	check(err)
	set, err := tools.NewSet(tools.Config{Home: s.Dir, Workspace: filepath.Join(s.Dir, "workspace"), Mode: tools.ModeAllow})
	check(err)
	check(set.Register(marks, false))
	rt, err := llm.NewRoute(llm.ProviderCustom, s.ModelURL)
	check(err)
	client, err := llm.NewClient(llm.Options{Route: rt})
	check(err)
	loop, err := agent.New(agent.Config{Store: st, Tools: set, Model: client, ModelName: "fake-1"})
	check(err)
	return loop, st
}

// markTool appends a line to a file and hangs: an effect that a second run would double.
func markTool(dir string) tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{Name: "mark", Description: "leave a mark", Parameters: map[string]any{"type": "object"}},
		Toolset:    "file",
		Handler: func(_ context.Context, _ tools.Call) (tools.Result, error) {
			f, err := os.OpenFile(filepath.Join(dir, "marks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return tools.Result{}, err
			}
			_, err = f.WriteString("mark\n")
			if err := f.Close(); err != nil {
				return tools.Result{}, err
			}
			if err != nil {
				return tools.Result{}, err
			}
			fmt.Println("marked")
			select {}
		},
	}
}

// killChild starts a turn in another process and kills it with SIGKILL once every line of until was printed.
func killChild(t *testing.T, spec childSpec, until ...string) {
	t.Helper()
	b, err := json.Marshal(spec)
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"AGENT_TEST_CHILD=" + string(b)}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	waiting := map[string]bool{}
	for _, u := range until {
		waiting[u] = true
	}
	var seen []string
	lines := bufio.NewScanner(out)
	for len(waiting) > 0 && lines.Scan() {
		seen = append(seen, lines.Text())
		delete(waiting, lines.Text())
	}
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	if len(waiting) > 0 {
		t.Fatalf("the child printed %q and never %v", seen, waiting)
	}
}

// TestResumeAfterKill kills a real process at each step of a turn that calls tools and goes on from its store.
func TestResumeAfterKill(t *testing.T) {
	batch := fakemodel.Calls(call("a", "list_dir", "{}"), call("b", "mark", "{}"), call("c", "list_dir", "{}"))
	for _, c := range []struct {
		name    string
		blockOn string
		until   []string
		rows    string // after the kill
		resumed string // of a new turn, or of Resume
		again   string
		marks   int
		unknown int
	}{
		// The result of c is finished but, being behind b, not stored: c only reads, so it is known to have no effect.
		{"in the middle of a batch", "", []string{"tool_end a", "marked"}, "uat", "uatttaua", "uattta", 1, 1},
		{"before the batch", "usage", []string{"blocked"}, "ua", "uatttaua", "uattta", 0, 1},
		{"before the first answer", "text", []string{"blocked"}, "u", "uaua", "ua", 0, 0},
	} {
		for _, resume := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/resume=%v", c.name, resume), func(t *testing.T) {
				b := newBench(t)
				must(t, b.store.Close())
				first := batch
				if c.blockOn == "text" {
					first = fakemodel.Text("never seen")
				}
				b.model.Script(first)
				killChild(t, childSpec{Dir: b.dir, ModelURL: b.model.URL(), BlockOn: c.blockOn}, c.until...)

				b.open(b.model.URL())
				if b.roles() != c.rows {
					t.Fatalf("after the kill: rows %q", b.rows())
				}
				turn, want := agent.Turn{SessionID: "s", UserText: "and now?"}, c.resumed
				if resume {
					turn, want = agent.Turn{SessionID: "s", Resume: true}, c.again
				}
				b.model.Script(fakemodel.Text("going on"))
				r, err := b.loop.Run(context.Background(), turn, nil)
				must(t, err)
				if r.Reply != "going on" || b.roles() != want {
					t.Fatalf("%+v, rows %q", r, b.rows())
				}
				legal(t, b.lastRequest())
				if n := strings.Count(strings.Join(b.rows(), "\n"), "its effect is unknown"); n != c.unknown {
					t.Errorf("%d unknown results, want %d: %q", n, c.unknown, b.rows())
				}
				// What only reads is run again by a resumed turn, and its result is there.
				if lost := strings.Count(strings.Join(b.rows(), "\n"), "it changed nothing"); resume && lost != 0 || !resume && c.unknown > 0 && lost == 0 {
					t.Errorf("%d results lost: %q", lost, b.rows())
				}
				marks, _ := os.ReadFile(filepath.Join(b.dir, "marks"))
				if n := strings.Count(string(marks), "mark"); n != c.marks {
					t.Errorf("the tool ran %d times, want %d", n, c.marks)
				}
				ms, err := b.store.Messages(context.Background(), "s")
				must(t, err)
				for _, m := range ms {
					if strings.Contains(m.Content, "effect is unknown") != (m.EffectDisposition == agent.EffectUnknown) {
						t.Errorf("row %+v", m)
					}
				}
			})
		}
	}
}
