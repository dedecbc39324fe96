package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

// links is a chain of fake models, each with a key of its own.
type links struct {
	t       *testing.T
	servers []*fakemodel.Server
	clock   *clocktesting.FakePassiveClock
	chain   *llm.Chain
	keys    [][]string
	deltas  []llm.Delta
}

func newLinks(t *testing.T, n int, policy llm.Policy, windows ...int64) *links {
	t.Helper()
	l := &links{t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC))}
	var list []llm.Candidate
	for i := range n {
		s := server(t)
		url := s.URL()
		if i%2 == 1 {
			url = s.MessagesURL() // chains mix dialects
		}
		name := string(rune('a' + i))
		l.servers, l.keys = append(l.servers, s), append(l.keys, []string{"key-" + name})
		keys := func(context.Context) ([]string, error) { return l.keys[i], nil }
		c := llm.Candidate{Model: client(t, url, llm.Options{Keys: keys, Policy: policy}), Name: "model-" + name, Provider: "custom", BaseURL: url, Keys: keys}
		if i < len(windows) {
			c.Window = windows[i]
		}
		list = append(list, c)
	}
	var err error
	if l.chain, err = llm.NewChain(l.clock, logr.Discard(), list...); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *links) ask(r llm.Request) (llm.Response, error) {
	l.deltas = nil
	return l.chain.Stream(context.Background(), r, func(d llm.Delta) { l.deltas = append(l.deltas, d) })
}

func (l *links) mustAsk() llm.Response {
	l.t.Helper()
	got, err := l.ask(llm.Request{Model: "model-a", Messages: ask("hi").Messages})
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

// counts is how many requests each server has seen.
func (l *links) counts() (out [3]int) {
	for i, s := range l.servers {
		out[i] = len(s.Requests())
	}
	return out
}

func (l *links) fallbacks() (out []llm.Fallback) {
	for _, d := range l.deltas {
		if d.Fallback != nil {
			out = append(out, *d.Fallback)
		}
	}
	return out
}

func refusal(status int, message string) fakemodel.Turn {
	return fakemodel.Turn{Fault: fakemodel.Fault{Status: status, Message: message}}
}

// TestChainSettles: which failures go to the next model, after how many attempts (L16, L17, L21).
func TestChainSettles(t *testing.T) {
	for _, c := range []struct {
		id    string
		turn  fakemodel.Turn
		first int // requests of the first server
		falls bool
	}{
		{"auth falls back at once", refusal(401, "no"), 1, true},
		{"case 101 billing falls back at once", refusal(402, "pay"), 1, true},
		{"case 101 L17 rate limit only after the back-off", fakemodel.RateLimit("0.001"), 4, true},
		{"L17 overload only after the back-off", refusal(503, "busy"), 4, true},
		{"server error only after the back-off", refusal(500, "oops"), 4, true},
		{"model not found", refusal(404, "no such model"), 1, true},
		{"format", refusal(400, "bad"), 1, true},
		{"case 103 L21 the model's own tool JSON does not fall back", refusal(400, "Failed to parse tool call arguments as JSON"), 1, false},
		{"overflow is the caller's to compress", refusal(400, "maximum context length is 5"), 1, false},
		{"a spent one-shot is the client's error", refusal(400, "failed to parse grammar"), 1, false},
		{"L17 a thinking signature is another host's chance", refusal(400, "Invalid signature in thinking block"), 1, true},
	} {
		t.Run(c.id, func(t *testing.T) {
			l := newLinks(t, 2, quick)
			l.servers[0].Respond(func(fakemodel.Request) fakemodel.Turn { return c.turn })
			l.servers[1].Script(fakemodel.Text("second"))
			got, err := l.ask(llm.Request{Model: "model-a", Messages: ask("hi").Messages})
			if (err == nil) != c.falls || c.falls && (got.Message.Content != "second" || got.BaseURL != l.servers[1].MessagesURL()) {
				t.Fatalf("%+v %v", got, err)
			}
			second := 0
			if c.falls {
				second = 1
			}
			if n := l.counts(); n[0] != c.first || n[1] != second {
				t.Errorf("requests %v", n)
			}
			if f := l.fallbacks(); len(f) != second || c.falls && (f[0].From != "custom/model-a" || f[0].To != "custom/model-b" || f[0].Err == nil || f[0].Resting) {
				t.Errorf("told %+v", f)
			}
		})
	}
}

// TestChainKeepsRequestsApart: the next route gets its own model name and its own key, nothing of the first one's, and
// what was streamed before is void.
func TestChainKeepsRequestsApart(t *testing.T) {
	l := newLinks(t, 2, once)
	l.servers[0].Script(fakemodel.Turn{Text: strings.Repeat("half an answer ", 60), Fault: fakemodel.Fault{TruncateAfter: 900}})
	l.servers[1].Script(fakemodel.Text("whole"))
	r := ask("hi")
	r.Model = "model-a"
	got, err := l.ask(r)
	if err != nil || got.Message.Content != "whole" || got.Model != "model-b" {
		t.Fatalf("%+v %v", got, err)
	}
	q := l.servers[1].Requests()[0]
	if q.Key != "key-b" || q.Parsed.Model != "model-b" || strings.Contains(string(q.Body)+strings.Join(q.Header["Authorization"], ""), "key-a") {
		t.Errorf("sent %s %s", q.Key, q.Body)
	}
	said := ""
	for _, d := range l.deltas {
		if d.Retry != nil {
			said = ""
		}
		said += d.Text
	}
	if said != "whole" {
		t.Errorf("streamed %q", said)
	}
}

// TestChainRemembers: L19, a route that failed rests until its reset, is tried again after it, and at once when its
// keys were replaced; meanwhile people are told why another one answers.
func TestChainRemembers(t *testing.T) {
	p := once
	l := newLinks(t, 2, p)
	l.servers[0].Script(fakemodel.RateLimit("300"))
	l.mustAsk()
	l.mustAsk()
	if n := l.counts(); n[0] != 1 || n[1] != 2 {
		t.Fatalf("the resting route was asked: %v", n)
	}
	if f := l.fallbacks(); len(f) != 1 || !f[0].Resting || f[0].Err.Reason != llm.ReasonRateLimit || !strings.Contains(f[0].String(), "answering with custom/model-b because custom/model-a failed") {
		t.Errorf("told %+v", f)
	}
	l.clock.SetTime(l.clock.Now().Add(299 * time.Second))
	l.mustAsk()
	l.clock.SetTime(l.clock.Now().Add(2 * time.Second))
	if got := l.mustAsk(); got.BaseURL != l.servers[0].URL() || len(l.fallbacks()) != 0 {
		t.Errorf("after the reset %+v answered", got)
	}
	if n := l.counts(); n[0] != 2 || n[1] != 3 {
		t.Fatalf("requests %v", n)
	}
	t.Run("a new key is tried at once", func(t *testing.T) {
		l.servers[0].Script(refusal(401, "no"))
		l.mustAsk()
		l.mustAsk()
		if n := l.counts(); n[0] != 3 {
			t.Fatalf("requests %v", n)
		}
		l.keys[0] = []string{"replaced"}
		if got := l.mustAsk(); got.BaseURL != l.servers[0].URL() {
			t.Errorf("%+v answered", got)
		}
	})
	t.Run("a revoked key is not used, and the next model answers", func(t *testing.T) {
		before := l.counts()
		l.keys[0] = nil
		l.mustAsk()
		if n := l.counts(); n[0] != before[0] || n[1] != before[1]+1 {
			t.Errorf("requests %v after %v", n, before)
		}
	})
}

// TestChainWithoutAnAnswer: the error is the first model's, names the others, and a resting route is better than none.
func TestChainWithoutAnAnswer(t *testing.T) {
	l := newLinks(t, 3, once)
	for i, turn := range []fakemodel.Turn{fakemodel.RateLimit("500"), refusal(401, "bad key"), refusal(402, "pay first")} {
		l.servers[i].Respond(func(fakemodel.Request) fakemodel.Turn { return turn })
	}
	for round := 1; round <= 2; round++ {
		_, err := l.ask(llm.Request{Messages: ask("hi").Messages})
		var e *llm.Error
		if !errors.As(err, &e) || e.Reason != llm.ReasonRateLimit || e.RetryAfter != 500*time.Second ||
			!strings.Contains(e.Error(), "custom/model-b failed as well") || !strings.Contains(e.Error(), "pay first") {
			t.Fatalf("round %d: %v", round, err)
		}
		if n := l.counts(); n != [3]int{round, round, round} {
			t.Errorf("round %d: requests %v", round, n)
		}
	}
}

// TestCase104: a fallback with another window gets messages that were made to fit before anything is sent.
func TestCase104(t *testing.T) {
	l := newLinks(t, 3, once, 100_000, 8_000, 100_000)
	for i := range 2 {
		l.servers[i].Script(refusal(401, "no"))
	}
	var asked []int64
	r := ask("a long story")
	r.Refit = func(_ context.Context, window int64) ([]llm.Message, error) {
		asked = append(asked, window)
		return ask("a short one").Messages, nil
	}
	if _, err := l.ask(r); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || asked[0] != 8000 {
		t.Errorf("refitted to %v", asked)
	}
	for i, want := range []string{"a long story", "a short one", "a long story"} {
		if body := string(l.servers[i].Requests()[0].Body); !strings.Contains(body, want) {
			t.Errorf("model %d got %s", i, body)
		}
	}
	t.Run("what cannot be made to fit is not sent", func(t *testing.T) {
		l := newLinks(t, 2, once, 100_000, 8_000)
		l.servers[0].Script(refusal(401, "no"))
		r.Refit = func(context.Context, int64) ([]llm.Message, error) {
			return nil, errors.New("one message alone is too long")
		}
		_, err := l.ask(r)
		if err == nil || !strings.Contains(err.Error(), "one message alone is too long") || l.counts()[1] != 0 {
			t.Errorf("%v after %v", err, l.counts())
		}
	})
}

// TestChainWindow: what is declared wins; else the server is asked once; else it is unknown.
func TestChainWindow(t *testing.T) {
	for name, c := range map[string]struct {
		declared int64
		list     string
		want     int64
		asked    bool
	}{
		"declared":                {4096, `{"data":[{"id":"m","context_length":8192}]}`, 4096, false},
		"OpenRouter":              {0, `{"data":[{"id":"x","context_length":5},{"id":"m","context_length":8192}]}`, 8192, true},
		"vLLM":                    {0, `{"data":[{"id":"m","max_model_len":32768}]}`, 32768, true},
		"Anthropic":               {0, `{"data":[{"id":"m","max_input_tokens":200000}]}`, 200000, true},
		"LM Studio, as loaded":    {0, `{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":4096}]}`, 4096, true},
		"a figure no model has":   {0, `{"data":[{"id":"m","context_length":-1}]}`, 0, true},
		"another model":           {0, `{"data":[{"id":"other","context_length":8192}]}`, 0, true},
		"a server that says none": {0, `{}`, 0, true},
		"not JSON":                {0, `<html>`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			bothDialects(t, func(t *testing.T, url func(*fakemodel.Server) string) {
				s := server(t)
				s.Models(c.list)
				chain, err := llm.NewChain(nil, logr.Discard(), llm.Candidate{Model: client(t, url(s), llm.Options{}), Name: "m", Window: c.declared})
				if err != nil {
					t.Fatal(err)
				}
				if got := chain.Window(context.Background()); got != c.want {
					t.Errorf("%d, want %d", got, c.want)
				}
				s.Models(`{"data":[{"id":"m","context_length":9999}]}`)
				if got := chain.Window(context.Background()); got != c.want {
					t.Errorf("asked again: %d, want %d", got, c.want)
				}
			})
		})
	}
}

// TestCase105: a stop in the back-off, of whichever model, ends the call at once with its own cause.
func TestCase105(t *testing.T) {
	p := quick
	p.MaxWait = time.Hour
	l := newLinks(t, 2, p)
	l.servers[0].Script(refusal(401, "no"))
	l.servers[1].Script(fakemodel.RateLimit("600"))
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	var began time.Time
	_, err := l.chain.Stream(ctx, ask("hi"), func(d llm.Delta) {
		if d.Retry != nil && d.Retry.Wait > 0 {
			began = time.Now()
			cancel(stopped)
		}
	})
	if !errors.Is(err, stopped) || began.IsZero() {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 300*time.Millisecond {
		t.Errorf("L18 stopped after %s", d)
	}
}
