package llm_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

func TestRetriesUntilItAnswers(t *testing.T) {
	s := server(t)
	s.Script(fakemodel.Status(500), fakemodel.Turn{Text: "this will be cut and must not be seen twice, nor become history " + strings.Repeat("x", 200), Fault: fakemodel.Fault{TruncateAfter: 900}},
		fakemodel.Turn{Fault: fakemodel.Fault{Status: 429, RetryAfter: "0.001"}}, fakemodel.Text("fine"))
	var rec record
	got, err := client(t, s.URL(), llm.Options{Policy: quick}).Stream(context.Background(), ask("hi"), rec.emit)
	if err != nil || got.Message.Content != "fine" {
		t.Fatalf("%+v %v", got, err)
	}
	if rec.text.String() != "fine" || len(rec.retries) != 3 || rec.retries[1].Err.Code != llm.CodeStreamTruncated || rec.retries[2].Attempt != 4 {
		t.Fatalf("streamed %q after %+v", rec.text.String(), rec.retries)
	}
	if rec.retries[2].Wait != time.Millisecond {
		t.Errorf("Retry-After was not followed: %s", rec.retries[2].Wait)
	}
}

func TestGivesUpAndSaysWhenToRetry(t *testing.T) {
	s := server(t)
	s.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.RateLimit("5000") })
	p := quick
	p.MaxWait = time.Second
	_, err := client(t, s.URL(), llm.Options{Policy: p}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Reason != llm.ReasonRateLimit || e.RetryAfter != 600*time.Second || e.Status != 429 {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Requests()); n != 1 {
		t.Fatalf("%d requests although the wait passes the budget", n)
	}
}

func keysOf(rs []fakemodel.Request) string {
	var k []string
	for _, r := range rs {
		k = append(k, r.Key)
	}
	return strings.Join(k, " ")
}

// TestKeyRotation: L20 over the wire.
func TestKeyRotation(t *testing.T) {
	t.Run("auth goes to the next key and remembers it", func(t *testing.T) {
		s := server(t)
		s.AllowKeys("good")
		c := client(t, s.URL(), llm.Options{Policy: quick, Keys: llm.StaticKeys("bad1", "bad2", "good", "spare")})
		for range 2 {
			if _, err := c.Stream(context.Background(), ask("hi"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := keysOf(s.Requests()); got != "bad1 bad2 good good" {
			t.Fatal(got)
		}
	})
	t.Run("one lap only", func(t *testing.T) {
		s := server(t)
		s.AllowKeys("none of them")
		_, err := client(t, s.URL(), llm.Options{Policy: quick, Keys: llm.StaticKeys("sk-one-1", "sk-two-2")}).Stream(context.Background(), ask("hi"), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Reason != llm.ReasonAuth || e.Status != 401 {
			t.Fatalf("got %v", err)
		}
		if got := keysOf(s.Requests()); got != "sk-one-1 sk-two-2" {
			t.Fatal(got)
		}
		if strings.Contains(err.Error(), "sk-two-2") || !strings.Contains(err.Error(), "[key]") {
			t.Fatalf("the error repeats the key: %v", err)
		}
	})
	t.Run("rate limit: same key, then the next", func(t *testing.T) {
		s := server(t)
		s.Script(fakemodel.RateLimit("0.001"), fakemodel.RateLimit("0.001"), fakemodel.Text("ok"))
		if _, err := client(t, s.URL(), llm.Options{Policy: quick, Keys: llm.StaticKeys("a", "b")}).Stream(context.Background(), ask("hi"), nil); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(s.Requests()); got != "a a b" {
			t.Fatal(got)
		}
	})
}

// TestRevokedKeyIsNotUsedAgain: the key disappears while the request waits for its retry.
func TestRevokedKeyIsNotUsedAgain(t *testing.T) {
	s := server(t)
	s.Script(fakemodel.Status(503), fakemodel.Text("must not be reached"))
	var calls atomic.Int32
	keys := func(context.Context) ([]string, error) {
		if calls.Add(1) == 1 {
			return []string{"revoked"}, nil
		}
		return nil, nil
	}
	_, err := client(t, s.URL(), llm.Options{Policy: quick, Keys: keys}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != llm.CodeCredentialMissing {
		t.Fatalf("got %v", err)
	}
	if got := keysOf(s.Requests()); got != "revoked" {
		t.Fatalf("sent with keys %q", got)
	}
}

func TestMissingCredentialSendsNothing(t *testing.T) {
	s := server(t)
	rt, err := llm.NewRoute("openai", s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := llm.NewClient(llm.Options{Route: rt, Keys: llm.StaticKeys(), Policy: quick})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != llm.CodeCredentialMissing || e.Reason != llm.ReasonAuth {
		t.Fatalf("got %v", err)
	}
	if len(s.Requests()) != 0 {
		t.Fatal("a request was sent")
	}
}

// TestKeepaliveOnlyMovesToOnePiece: L9.
func TestKeepaliveOnlyMovesToOnePiece(t *testing.T) {
	s := server(t)
	s.Script(fakemodel.Turn{Fault: fakemodel.Fault{KeepaliveOnly: true}}, fakemodel.Text("whole"))
	got, err := client(t, s.URL(), llm.Options{Policy: quick, Timeouts: impatient(llm.CodeKeepaliveOnly)}).Stream(context.Background(), ask("hi"), nil)
	if err != nil || got.Message.Content != "whole" || !got.NoStream {
		t.Fatalf("%+v %v", got, err)
	}
	if r := s.Requests(); !r[0].Parsed.Stream || r[1].Parsed.Stream {
		t.Fatal("the second request still streams")
	}
}

// TestCancelInterruptsAtOnce in every phase; the cause comes back as it is.
func TestCancelInterruptsAtOnce(t *testing.T) {
	stopped := errors.New("stopped by a person")
	for name, f := range map[string]fakemodel.Fault{
		"before headers": {NoHeaders: true}, "before the first byte": {NoFirstByte: true}, "in the stream": {StallAfter: 600},
		"during back-off": {Status: 429, RetryAfter: "500"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			s.Script(fakemodel.Turn{Text: strings.Repeat("long ", 100), Fault: f})
			p := quick
			p.MaxWait = time.Hour
			c := client(t, s.URL(), llm.Options{Policy: p})
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				_, _ = s.WaitRequests(ctx, 1)
				cancel(stopped)
			}()
			begin := time.Now()
			_, err := c.Stream(ctx, ask("hi"), nil)
			if !errors.Is(err, stopped) {
				t.Fatalf("got %v", err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Fatalf("took %s", d)
			}
		})
	}
}

// TestSilentRouteIsLeft: the row "timeout (breaker)": after two attempts that ended in silence there is no third.
func TestSilentRouteIsLeft(t *testing.T) {
	s := server(t)
	s.Respond(func(fakemodel.Request) fakemodel.Turn {
		return fakemodel.Turn{Fault: fakemodel.Fault{NoFirstByte: true}}
	})
	_, err := client(t, s.URL(), llm.Options{Policy: quick, Timeouts: impatient(llm.CodeFirstByteTimeout)}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Reason != llm.ReasonTimeout || !e.Fallback || e.Retryable {
		t.Fatalf("%+v", err)
	}
	if n := len(s.Requests()); n != 2 {
		t.Fatalf("%d requests", n)
	}
}

// TestConnectionsAreRebuilt: L16, after the retries comes one attempt on connections of its own.
func TestConnectionsAreRebuilt(t *testing.T) {
	s := server(t)
	cut := fakemodel.Turn{Text: strings.Repeat("words ", 200), Fault: fakemodel.Fault{TruncateAfter: 900}}
	s.Script(cut, cut, cut, cut, fakemodel.Text("on a new connection"))
	got, err := client(t, s.URL(), llm.Options{Policy: quick}).Stream(context.Background(), ask("hi"), nil)
	if err != nil || got.Message.Content != "on a new connection" {
		t.Fatalf("%+v %v", got, err)
	}
	s.Script(cut, cut, cut, cut, cut, fakemodel.Text("too late"))
	if _, err = client(t, s.URL(), llm.Options{Policy: quick}).Stream(context.Background(), ask("hi"), nil); err == nil {
		t.Fatal("there is no end to it")
	}
}
