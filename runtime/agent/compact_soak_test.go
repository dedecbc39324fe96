package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// TestCompactionSoak: turns of every kind, faults and restarts included, on a model with a small window: every request is
// legal and begins with the same prompt, no turn ends because the conversation is too long, and what the person said
// last is in every request.
func TestCompactionSoak(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			b := newBench(t)
			answer := func(r fakemodel.Request) fakemodel.Turn {
				if ms := r.Parsed.Decoded(); ms[len(ms)-1].Role == "tool" && rnd.IntN(8) == 0 {
					return fakemodel.Text("done with it")
				}
				return randomTurn(rnd)
			}
			window := []int64{0, 6_000, 8_192, 16_384}[seed]
			real := max(window, 8_192)
			b.model.Respond(func(r fakemodel.Request) fakemodel.Turn {
				if asksForSummary(r) && rnd.IntN(3) == 0 {
					return fakemodel.Status(503)
				}
				return small(real, answer)(r)
			})
			b.compacting(window)
			said := map[int]string{}
			for i := range 50 {
				text := fmt.Sprintf("message %d: %s", i, strings.Repeat("some words ", 1+rnd.IntN(120)))
				_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: text}, b.record)
				if err != nil && kindOf(t, err).Kind == agent.KindTooLong {
					t.Fatalf("turn %d: %v", i, err)
				}
				said[len(b.model.Requests())] = text
				if rnd.IntN(10) == 0 {
					b.compacting(window)
				}
			}
			requests, summaries := b.model.Requests(), 0
			current := ""
			for i := len(requests) - 1; i >= 0; i-- {
				if text, ok := said[i+1]; ok {
					current = text
				}
				if asksForSummary(requests[i]) {
					summaries++
					continue
				}
				ms := requests[i].Parsed.Decoded()
				legal(t, ms)
				if ms[0].Content != "You are helpful." || current != "" && !strings.Contains(fmt.Sprint(ms), current[:12]) {
					t.Errorf("request %d: prompt %q, without %q", i, ms[0].Content, current[:12])
				}
			}
			if summaries == 0 || b.count(agent.EventCompacted) == 0 {
				t.Errorf("%d summaries, %d compactions: hardly tried", summaries, b.count(agent.EventCompacted))
			}
		})
	}
}

// BenchmarkTurnNearTheThreshold is a turn of one call in a session of 400 rows whose size is looked at and which is left
// alone: what the preflight costs.
func BenchmarkTurnNearTheThreshold(b *testing.B) {
	for name, window := range map[string]int64{"off": 0, "on": 1 << 40} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b)
			bench.model.Respond(chatter)
			bench.compacting(window)
			if w := compaction.Defaults().ThresholdFor(window); w <= 0 {
				b.Fatal(w)
			}
			for range 200 {
				bench.mustSay("hello")
			}
			for b.Loop() {
				bench.mustSay("hello")
			}
		})
	}
}

// TestCase104 is the same over a chain: the first model is gone, the window of the second is smaller, and what it is sent
// fits, without a refusal. The summary is written, and booked, where the answer comes from.
func TestCase104(t *testing.T) {
	gone, err := fakemodel.Start("")
	must(t, err)
	defer gone.Close()
	b := newBench(t)
	down := false
	gone.Respond(func(r fakemodel.Request) fakemodel.Turn {
		if down {
			return fakemodel.Status(401)
		}
		return chatter(r)
	})
	refused := 0
	b.model.Respond(func(r fakemodel.Request) fakemodel.Turn {
		if tokensOf(r) > 8_192 {
			refused++
		}
		return small(8_192, chatter)(r)
	})
	b.compacting(200_000, func(c *agent.Config, _ *tools.Config, _ *llm.Options) {
		var routes []llm.Candidate
		for i, url := range []string{gone.URL(), b.model.URL()} {
			rt, err := llm.NewRoute(llm.ProviderCustom, url)
			must(t, err)
			client, err := llm.NewClient(llm.Options{Route: rt, Log: logr.Discard(), Policy: llm.Policy{Base: time.Millisecond, Cap: time.Millisecond, MaxWait: time.Second}})
			must(t, err)
			t.Cleanup(client.Close)
			routes = append(routes, llm.Candidate{Model: client, Name: fmt.Sprint("fake-", i+1), Provider: "custom", BaseURL: url, Window: []int64{200_000, 8_192}[i]})
		}
		chain, err := llm.NewChain(nil, logr.Discard(), routes...)
		must(t, err)
		c.Model = chain
	})
	for range 40 {
		b.mustSay(strings.Repeat("words ", 150))
	}
	if len(b.model.Requests()) != 0 || b.count(agent.EventCompacted) != 0 {
		t.Fatal("the second model was asked before it was needed")
	}
	down = true
	for range 5 {
		b.mustSay("and now?")
	}
	rs, summaries := b.conversations()
	if refused != 0 || len(rs) != 5 || summaries == 0 || b.count(agent.EventCompacted) == 0 {
		t.Errorf("case 104: %d refusals, %d answers, %d summaries", refused, len(rs), summaries)
	}
	for _, r := range rs {
		legal(t, r.Parsed.Decoded())
	}
	usage, err := b.store.ModelUsage(context.Background(), "s")
	must(t, err)
	for _, u := range usage {
		if u.Task == agent.TaskCompression && u.BillingBaseURL != b.model.URL() {
			t.Errorf("booked %+v", u)
		}
	}
}
