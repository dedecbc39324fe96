package llm

import (
	"net"
	"testing"
	"time"
)

func TestSettle(t *testing.T) {
	toolJSON := verdict(ReasonFormat)
	toolJSON.Fallback = false
	for _, c := range []struct {
		id   string
		e    Error
		want Step
	}{
		{"L16 not retryable, fallback allowed", Error{Verdict: verdict(ReasonAuth)}, StepFallback},
		{"L16 spent one-shot", Error{Verdict: verdict(ReasonReasoningMandatory)}, StepTerminal},
		{"L16 spent one-shot of an image", Error{Verdict: verdict(ReasonImageTooLarge)}, StepTerminal},
		{"L16 context error", Error{Verdict: verdict(ReasonContextOverflow)}, StepCompress},
		{"L16 tier", Error{Verdict: verdict(ReasonLongContextTier)}, StepCompress},
		{"L16 retries spent", Error{Verdict: verdict(ReasonServerError)}, StepFallback},
		{"L17 overloaded", Error{Verdict: verdict(ReasonOverloaded)}, StepFallback},
		{"L17 thinking signature", Error{Verdict: verdict(ReasonThinkingSignature)}, StepFallback},
		{"L21 the model's own tool JSON", Error{Verdict: toolJSON}, StepTerminal},
		{"L21 an unclassified local error still cascades", Error{Verdict: verdict(ReasonFormat), Local: true}, StepFallback},
		{"L21 a local error with a verdict does not", Error{Verdict: toolJSON, Local: true}, StepTerminal},
		{"timeout (breaker)", Error{Verdict: breakerVerdict()}, StepFallback},
		{"unknown", Error{Verdict: verdict(ReasonUnknown)}, StepFallback},
	} {
		if got := Settle(&c.e); got != c.want {
			t.Errorf("%s: %s, want %s", c.id, got, c.want)
		}
	}
}

func TestBench(t *testing.T) {
	now := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	k1, k2 := printOf("1"), printOf("2")
	var b bench
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		b = b.failed(now, &Error{Verdict: verdict(ReasonOverloaded)}, k1)
		if got := b.until.Sub(now); got != want {
			t.Errorf("failure %d: rests %s, want %s", i+1, got, want)
		}
	}
	if !b.rests(now.Add(time.Minute), k1) || b.rests(now.Add(time.Minute), k2) || b.rests(now.Add(10*time.Minute), k1) {
		t.Error("rests until its time, and only with the keys that were refused")
	}
	if b = (bench{}).failed(now, &Error{Verdict: verdict(ReasonRateLimit), RetryAfter: 90 * time.Second}, k1); b.until != now.Add(90*time.Second) {
		t.Errorf("L19 a known reset: %s", b.until)
	}
	for _, r := range []Reason{ReasonContentPolicy, ReasonFormat, ReasonContextOverflow, ReasonThinkingSignature, ReasonIncomplete} {
		if b := (bench{}).failed(now, &Error{Verdict: verdict(r)}, k1); b != (bench{}) {
			t.Errorf("%s says something of the request, not of the route", r)
		}
	}
	if got := order([]bench{{until: now.Add(time.Hour)}, {}, {until: now.Add(time.Minute)}, {}}, now, make([]fingerprint, 4)); len(got) != 4 || got[0] != 1 || got[1] != 3 || got[2] != 0 || got[3] != 2 {
		t.Errorf("order %v", got)
	}
}

// TestRebuild: L16, one more attempt on a connection of its own after the retries are spent, for failures of the wire.
func TestRebuild(t *testing.T) {
	p := DefaultPolicy()
	cut := &Error{Verdict: verdict(ReasonTimeout), Code: CodeStreamTruncated}
	dns := &Error{Verdict: verdict(ReasonTimeout), Code: CodeConnect, Err: &net.DNSError{IsNotFound: true}}
	for _, c := range []struct {
		id   string
		t    tried
		p    Policy
		e    *Error
		want action
		wait time.Duration
	}{
		{"cut", tried{retries: 3}, p, cut, rebuildNow, 6 * time.Second},
		{"once", tried{retries: 3, rebuilt: true}, p, cut, giveUp, 0},
		{"not when the server answered", tried{retries: 3}, p, &Error{Verdict: verdict(ReasonServerError), Status: 500}, giveUp, 0},
		{"not when nobody is there", tried{retries: 3}, p, dns, giveUp, 0},
		{"not without retries", tried{}, Policy{Cap: time.Hour}, cut, giveUp, 0},
	} {
		if act, wait := c.p.decide(c.t, c.e, 0); act != c.want || wait != c.wait {
			t.Errorf("%s: %d after %s", c.id, act, wait)
		}
	}
	if got := p.rebuildWait(20); got != 8*time.Second {
		t.Errorf("min(3+n, 8): %s", got)
	}
}
