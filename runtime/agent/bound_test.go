package agent

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
)

// gatedTools counts the calls that have begun and holds each until the gate gives it a token.
type gatedTools struct {
	mu   sync.Mutex
	n    int
	gate chan struct{}
}

func (g *gatedTools) Definitions() []tools.Definition { return nil }
func (g *gatedTools) Interactive(string) bool         { return false }
func (g *gatedTools) Run(context.Context, string, tools.Call, tools.ApproveFunc) tools.Result {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	<-g.gate
	return tools.Result{}
}

func (g *gatedTools) begun() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// TestParallelToolsAreBounded: with two slots, the third call begins only when one of the first two has ended.
func TestParallelToolsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gatedTools{gate: make(chan struct{})}
		r := &run{Loop: &Loop{c: Config{Tools: g, ParallelTools: 2, Clock: clock.RealClock{}}}}
		var calls []llm.ToolCall
		var out []*outcome
		for i := range 5 {
			calls = append(calls, llm.ToolCall{ID: fmt.Sprint(i), Name: "t"})
			out = append(out, &outcome{done: make(chan struct{})})
		}
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r.startTools(ctx, cancel, &wg, calls, out)
		for ended := range calls {
			synctest.Wait()
			if got, want := g.begun(), min(len(calls), ended+2); got != want {
				t.Fatalf("%d begun with %d ended, want %d", got, ended, want)
			}
			g.gate <- struct{}{}
		}
		wg.Wait()
	})
}
