package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

const (
	walkCalls = 26 // model calls of the scripted session
	walkKills = 200
	walkLanes = 4
)

// walkStep is what the model answers when it has answered n times before: notes of different numbers, alone, in
// batches with a call that only reads, and in the end a text.
func walkStep(n int) fakemodel.Turn {
	id := func(c string) string { return fmt.Sprintf("s%d%s", n, c) }
	note := func(c string, number int) fakemodel.ToolCall {
		return call(id(c), "note", fmt.Sprintf(`{"n":%d}`, number))
	}
	switch {
	case n >= walkCalls-1:
		return fakemodel.Text("done")
	case n%5 == 2:
		return fakemodel.Calls(call(id("a"), "list_dir", `{}`))
	case n%5 == 4:
		return fakemodel.Calls(note("a", 3*n), call(id("b"), "list_dir", `{}`), note("c", 3*n+1), note("d", 3*n+2))
	}
	return fakemodel.Calls(note("a", 3*n))
}

// noteTool appends its number to a file: an effect that is seen when it happens twice.
func noteTool(dir string) tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{Name: "note", Description: "note a number", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"},
		}},
		Toolset: "file",
		Handler: func(_ context.Context, c tools.Call) (tools.Result, error) {
			var args struct{ N int }
			if err := json.Unmarshal(c.Arguments, &args); err != nil {
				return tools.Result{}, err
			}
			f, err := os.OpenFile(filepath.Join(dir, "notes"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return tools.Result{}, err
			}
			defer f.Close()
			_, err = fmt.Fprintf(f, "%d\n", args.N)
			return tools.Result{Content: "noted " + strconv.Itoa(args.N)}, err
		},
	}
}

// walk begins or resumes the session and prints a line for every event.
func walk(loop *agent.Loop, st *store.Store) {
	ctx := context.Background()
	rows, err := st.Messages(ctx, "s")
	turn := agent.Turn{SessionID: "s", Source: "cli", UserText: "walk"}
	if agent.Unfinished(rows) {
		turn = agent.Turn{SessionID: "s", Resume: true}
	} else if len(rows) > 0 {
		fmt.Println("complete")
		return
	}
	if err == nil {
		fmt.Println("ready")
		_, err = loop.Run(ctx, turn, func(e agent.Event) { fmt.Println(e.Kind) })
	}
	fmt.Println("ended", err)
}

// TestKillAtRandomPoints: a real process that runs a scripted session of 26 model calls is killed with SIGKILL at
// random points, 200 times, and goes on from its store each time. The rows are always a legal prefix of the script, no
// tool has its effect twice, and every session comes to its end. Implements L2 and L7.
func TestKillAtRandomPoints(t *testing.T) {
	model, err := fakemodel.Start("")
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	model.Respond(func(r fakemodel.Request) fakemodel.Turn {
		n := 0
		for _, m := range r.Parsed.Decoded() {
			if m.Role == "assistant" {
				n++
			}
		}
		return walkStep(n)
	})
	begun := time.Now()
	var unknown atomic.Int64
	t.Run("lanes", func(t *testing.T) {
		for lane := range walkLanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(uint64(lane), 26))
				sessions := 0
				for kills := 0; kills < walkKills/walkLanes; sessions++ {
					dir := t.TempDir()
					for killed := true; killed; {
						// The last session of a lane is left alone once the kills are used up.
						killed = kills < walkKills/walkLanes
						killed = runWalk(t, childSpec{Dir: dir, ModelURL: model.URL(), Walk: true}, rnd, killed)
						if killed {
							kills++
						}
						if n := checkWalk(t, dir, !killed); !killed {
							unknown.Add(int64(n))
						}
						if t.Failed() {
							return
						}
					}
				}
				if sessions < 2 {
					t.Errorf("only %d sessions", sessions)
				}
			})
		}
	})
	for _, r := range model.Requests() {
		legal(t, r.Parsed.Decoded())
	}
	if unknown.Load() == 0 {
		t.Error("no kill came between a call and its result")
	}
	t.Logf("%d kills, %d results unknown, %d requests in %s", walkKills, unknown.Load(), len(model.Requests()), time.Since(begun).Round(time.Millisecond))
}

// runWalk runs the child and kills it after a random number of events and a random moment. It reports whether the
// session is still unfinished.
func runWalk(t *testing.T, spec childSpec, rnd *rand.Rand, kill bool) (killed bool) {
	t.Helper()
	b, err := json.Marshal(spec)
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"AGENT_TEST_CHILD=" + string(b)}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	after, moment := rnd.IntN(30), time.Duration(rnd.IntN(3000))*time.Microsecond
	last, seen := "", 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		last = lines.Text()
		if seen++; kill && seen == after+1 {
			timer := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
	}
	if err := cmd.Wait(); err == nil && last != "ended <nil>" && last != "complete" {
		t.Fatalf("the child ended with %q", last)
	} else if err != nil && !kill {
		t.Fatalf("the child that nobody killed: %v after %q", err, last)
	}
	return last != "ended <nil>" && last != "complete"
}

// checkWalk compares the store and the notes with the script, and returns how many results are unknown.
func checkWalk(t *testing.T, dir string, ended bool) (unknown int) {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(dir, "state.db"), store.Options{Log: logr.Discard()})
	must(t, err)
	defer st.Close()
	rows, err := st.Messages(ctx, "s")
	must(t, err)
	raw, _ := os.ReadFile(filepath.Join(dir, "notes"))
	notes := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		if notes["noted "+strings.TrimSpace(line)]++; notes["noted "+strings.TrimSpace(line)] > 1 {
			t.Errorf("note %s was made twice", line)
		}
	}
	var want []store.Message // the script, row by row
	want = append(want, store.Message{Role: "user", Content: "walk"})
	for n := range walkCalls {
		step := walkStep(n)
		want = append(want, store.Message{Role: "assistant", Content: step.Text})
		for _, c := range step.ToolCalls {
			want = append(want, store.Message{Role: "tool", ToolName: c.Name, ToolCallID: c.ID})
		}
	}
	if len(rows) > len(want) || ended && len(rows) != len(want) {
		t.Fatalf("%d rows, the script has %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row.Role != want[i].Role || row.Role != "tool" && row.Content != want[i].Content || row.ToolCallID != want[i].ToolCallID || row.ToolName != want[i].ToolName {
			t.Fatalf("row %d is %s %q %s, want %+v", i, row.Role, row.Content, row.ToolCallID, want[i])
		}
		switch {
		case row.EffectDisposition == agent.EffectUnknown:
			unknown++
			if row.ToolName != "note" {
				t.Errorf("row %d: what a call of %s did is unknown", i, row.ToolName)
			}
		case row.ToolName == "note" && notes[row.Content] != 1:
			t.Errorf("row %d says %q and that happened %d times", i, row.Content, notes[row.Content])
		}
	}
	return unknown
}
