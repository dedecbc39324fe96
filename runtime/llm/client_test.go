package llm_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient timeouts never fire in a test.
var patient = llm.Timeouts{Connect: 20 * time.Second, FirstByte: time.Minute, Idle: time.Minute, Content: time.Minute}

// impatient makes only the timer that the fault must trip short, so that a busy machine cannot trip another one.
func impatient(code string) llm.Timeouts {
	t := patient
	switch code {
	case llm.CodeFirstByteTimeout:
		t.FirstByte = 150 * time.Millisecond
	case llm.CodeIdleTimeout:
		t.Idle = 150 * time.Millisecond
	case llm.CodeKeepaliveOnly:
		t.Content = 150 * time.Millisecond
	}
	return t
}

// once is a policy without retries.
var once = llm.Policy{MaxRetries: 0, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond}

// quick retries without noticeable waits.
var quick = llm.Policy{MaxRetries: 3, MaxWait: time.Minute, Base: time.Millisecond, Cap: 2 * time.Millisecond}

func server(t *testing.T) *fakemodel.Server {
	t.Helper()
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func client(t *testing.T, baseURL string, o llm.Options) *llm.Client {
	t.Helper()
	var err error
	if o.Route, err = llm.NewRoute(llm.ProviderCustom, baseURL); err != nil {
		t.Fatal(err)
	}
	if o.Timeouts == (llm.Timeouts{}) {
		o.Timeouts = patient
	}
	if o.Policy == (llm.Policy{}) {
		o.Policy = once
	}
	o.Log = logr.Discard()
	c, err := llm.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// dialects are the base URLs of a fake model for both protocols: what is true of one is true of the other.
var dialects = map[llm.Dialect]func(*fakemodel.Server) string{
	llm.DialectChat: (*fakemodel.Server).URL, llm.DialectMessages: (*fakemodel.Server).MessagesURL,
}

// bothDialects runs a test for each.
func bothDialects(t *testing.T, f func(t *testing.T, url func(*fakemodel.Server) string)) {
	t.Helper()
	for d, url := range dialects {
		t.Run(string(d), func(t *testing.T) { f(t, url) })
	}
}

func ask(text string) llm.Request {
	return llm.Request{Model: "fake-1", Messages: []llm.Message{{Role: llm.RoleSystem, Content: "be kind"}, {Role: llm.RoleUser, Content: text}}}
}

// record collects deltas.
type record struct {
	text, reasoning strings.Builder
	calls           []llm.ToolCall
	retries         []llm.Retry
}

func (r *record) emit(d llm.Delta) {
	r.text.WriteString(d.Text)
	r.reasoning.WriteString(d.Reasoning)
	if d.ToolCall != nil {
		r.calls = append(r.calls, *d.ToolCall)
	}
	if d.Retry != nil {
		r.retries = append(r.retries, *d.Retry)
		r.text.Reset()
	}
}

func TestStreamsAnswer(t *testing.T) { bothDialects(t, testStreamsAnswer) }

func testStreamsAnswer(t *testing.T, url func(*fakemodel.Server) string) {
	for name, turn := range map[string]fakemodel.Turn{
		"chunks":               {},
		"byte by byte":         {Fault: fakemodel.Fault{ByteByByte: true}},
		"L9 keepalives":        {Keepalives: 3},
		"no DONE":              {Fault: fakemodel.Fault{NoDone: true}},
		"not streamed":         {Fault: fakemodel.Fault{IgnoreStream: true}},
		"calls without index":  {Fault: fakemodel.Fault{OmitIndex: true}},
		"calls with one index": {Fault: fakemodel.Fault{SameIndex: true}},
		"arguments as object":  {Fault: fakemodel.Fault{ArgumentsAsObject: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			turn.Text, turn.Reasoning, turn.ChunkSize = "héllo wörld", "hm, let me see", 3
			turn.Usage = fakemodel.Usage{Prompt: 100, Completion: 20, Cached: 60, Reasoning: 5}
			turn.ToolCalls = []fakemodel.ToolCall{
				{ID: "a", Name: "list_dir", Arguments: `{"path":"."}`}, {ID: "b", Name: "terminal", Arguments: `{"command":"date"}`},
			}
			s.Script(turn)
			var rec record
			got, err := client(t, url(s), llm.Options{Keys: llm.StaticKeys("k-1234")}).Stream(context.Background(), ask("hi"), rec.emit)
			if err != nil {
				t.Fatal(err)
			}
			if got.Message.Content != "héllo wörld" || got.Message.Reasoning != "hm, let me see" || rec.text.String() != got.Message.Content ||
				rec.reasoning.String() != got.Message.Reasoning {
				t.Errorf("got %+v, streamed %q", got.Message, rec.text.String())
			}
			want := []llm.ToolCall{{ID: "a", Name: "list_dir", Arguments: `{"path":"."}`}, {ID: "b", Name: "terminal", Arguments: `{"command":"date"}`}}
			if len(got.Message.ToolCalls) != 2 || got.Message.ToolCalls[0] != want[0] || got.Message.ToolCalls[1] != want[1] || len(rec.calls) != 2 {
				t.Errorf("calls %+v, announced %+v", got.Message.ToolCalls, rec.calls)
			}
			if got.FinishReason != llm.FinishToolCalls || got.Usage != (llm.Usage{Input: 40, Output: 20, CacheRead: 60, Reasoning: 5}) {
				t.Errorf("finish %q usage %+v", got.FinishReason, got.Usage)
			}
			r := s.Requests()[0]
			if r.Key != "k-1234" || !r.Parsed.Stream {
				t.Errorf("sent %s %s", r.Path, r.Body)
			}
		})
	}
}

func TestMissingCallIDsAreMade(t *testing.T) { bothDialects(t, testMissingCallIDs) }

func testMissingCallIDs(t *testing.T, url func(*fakemodel.Server) string) {
	s := server(t)
	s.Script(fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{{Name: "a", Arguments: "{}"}, {Name: "b", Arguments: "{}"}}, Fault: fakemodel.Fault{OmitID: true}})
	got, err := client(t, url(s), llm.Options{}).Stream(context.Background(), ask("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Message.ToolCalls; len(c) != 2 || c[0].ID == "" || c[0].ID == c[1].ID {
		t.Fatalf("%+v", c)
	}
}

// TestFaults: every fault is one typed error without a message (L5), in both dialects.
func TestFaults(t *testing.T) { bothDialects(t, testFaults) }

func testFaults(t *testing.T, url func(*fakemodel.Server) string) {
	long := strings.Repeat("words and more words ", 40)
	for _, c := range []struct {
		name   string
		fault  fakemodel.Fault
		reason llm.Reason
		code   string
		text   string
	}{
		{"slow headers", fakemodel.Fault{NoHeaders: true}, llm.ReasonTimeout, llm.CodeFirstByteTimeout, "no answer began"},
		{"slow first byte", fakemodel.Fault{NoFirstByte: true}, llm.ReasonTimeout, llm.CodeFirstByteTimeout, "no answer began within 150ms"},
		{"stall", fakemodel.Fault{StallAfter: 900}, llm.ReasonTimeout, llm.CodeIdleTimeout, "stopped for 150ms"},
		{"truncated", fakemodel.Fault{TruncateAfter: 900}, llm.ReasonTimeout, llm.CodeStreamTruncated, "cut off"},
		{"truncated between events", fakemodel.Fault{NoFinish: true}, llm.ReasonTimeout, llm.CodeStreamTruncated, "before it was complete"},
		{"connection reset", fakemodel.Fault{ResetAfter: 900}, llm.ReasonTimeout, llm.CodeStreamTruncated, "cut off"},
		{"malformed event", fakemodel.Fault{Malformed: true}, llm.ReasonServerError, llm.CodeStreamMalformed, "not valid JSON"},
		{"error in stream", fakemodel.Fault{StreamError: true, Code: "api_error", Type: "api_error"}, llm.ReasonServerError, "api_error", "had an error"},
		{"overload in stream", fakemodel.Fault{StreamError: true, Code: "overloaded_error", Type: "overloaded_error"}, llm.ReasonOverloaded, "overloaded_error", "had an error"},
		{"byte by byte and cut", fakemodel.Fault{ByteByByte: true, TruncateAfter: 900}, llm.ReasonTimeout, llm.CodeStreamTruncated, "cut off"},
		{"L9 keepalives only", fakemodel.Fault{KeepaliveOnly: true}, llm.ReasonTimeout, llm.CodeKeepaliveOnly, "only keepalives"},
		{"huge event", fakemodel.Fault{HugeBody: true}, llm.ReasonIncomplete, llm.CodeResponseTooLarge, "larger than"},
		{"web page", fakemodel.Fault{ContentType: "text/html"}, llm.ReasonFormat, llm.CodeNotAnAPI, "check that the base URL"},
		{"redirect", fakemodel.Fault{RedirectTo: "https://evil.example/v1?x=secret"}, llm.ReasonFormat, llm.CodeRedirect, "redirects to https://evil.example, which is not followed"},
		{"503", fakemodel.Fault{Status: 503, Type: "api_error"}, llm.ReasonOverloaded, "api_error", "Service Unavailable"},
		{"500 page", fakemodel.Fault{Status: 500, Body: "<html>oops</html>", ContentType: "text/html"}, llm.ReasonServerError, "", "web page"},
		{"empty", fakemodel.Fault{Status: 200, Body: "{}"}, llm.ReasonServerError, llm.CodeEmptyResponse, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server(t)
			s.Script(fakemodel.Turn{Text: long, Fault: c.fault})
			o := llm.Options{Timeouts: impatient(c.code), Keys: llm.StaticKeys("k")}
			got, err := client(t, url(s), o).Stream(context.Background(), ask("hi"), nil)
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Reason != c.reason || e.Code != c.code || !strings.Contains(e.Error(), c.text) || !strings.HasPrefix(e.Host, "127.0.0.1:") {
				t.Errorf("got %s %s %q: %v", e.Reason, e.Code, e.Host, e)
			}
			if got.Message.Content != "" {
				t.Error("a partial text came out as a message")
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestAnswersThatSayNothing(t *testing.T) { bothDialects(t, testAnswersThatSayNothing) }

func testAnswersThatSayNothing(t *testing.T, url func(*fakemodel.Server) string) {
	for _, c := range []struct {
		turn   fakemodel.Turn
		reason llm.Reason
	}{
		{fakemodel.Turn{}, llm.ReasonServerError},
		{fakemodel.Turn{Reasoning: "hmm", FinishReason: "length"}, llm.ReasonIncomplete},
		{fakemodel.Turn{FinishReason: "content_filter"}, llm.ReasonContentPolicy},
	} {
		s := server(t)
		s.Script(c.turn)
		_, err := client(t, url(s), llm.Options{}).Stream(context.Background(), ask("hi"), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Reason != c.reason {
			t.Errorf("%+v: %v, want %s", c.turn, err, c.reason)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	url := s.URL()
	_ = s.Close()
	_, err = client(t, url, llm.Options{}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Reason != llm.ReasonTimeout || e.Code != llm.CodeConnect || !strings.Contains(e.Error(), "is it running?") {
		t.Fatalf("got %v", err)
	}
}

func TestCertificateFailureIsNotRetried(t *testing.T) {
	var mu sync.Mutex
	seen := 0
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { mu.Lock(); seen++; mu.Unlock() }))
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.StartTLS()
	defer ts.Close()
	_, err := client(t, ts.URL+"/v1", llm.Options{Keys: llm.StaticKeys("k"), Policy: quick}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Reason != llm.ReasonCertificate || !strings.Contains(e.Error(), "certificate") {
		t.Fatalf("got %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen != 0 {
		t.Fatal("the key went to a server that did not prove who it is")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestConnectTimeout: a connection that never comes to be is told from an answer that does not come.
func TestConnectTimeout(t *testing.T) {
	never := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	tm := patient
	tm.Connect = 20 * time.Millisecond
	_, err := client(t, "http://127.0.0.1:9/v1", llm.Options{Timeouts: tm, Transport: never}).Stream(context.Background(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != llm.CodeConnect || e.Reason != llm.ReasonTimeout || !strings.Contains(e.Error(), "no connection within") {
		t.Fatalf("got %v", err)
	}
}

// TestPlainHTTPKeepsTheKey: in the clear the key goes to private hosts only, and nothing is sent otherwise.
func TestPlainHTTPKeepsTheKey(t *testing.T) {
	sent := 0
	count := roundTripper(func(*http.Request) (*http.Response, error) { sent++; return nil, errors.New("sent") })
	_, err := client(t, "http://models.example.com/v1", llm.Options{Keys: llm.StaticKeys("k"), Transport: count}).Stream(context.Background(), ask("hi"), nil)
	if err == nil || !strings.Contains(err.Error(), "use https://") || sent != 0 {
		t.Fatalf("%v after %d requests", err, sent)
	}
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	if llm.NewTransport(0).Proxy != nil {
		t.Fatal("a proxy function is set")
	}
}

// TestKeyInStreamErrorIsRedacted: servers echo the key, also inside a stream.
func TestKeyInStreamErrorIsRedacted(t *testing.T) {
	s := server(t)
	s.Script(fakemodel.Turn{Text: "x", Fault: fakemodel.Fault{StreamError: true, Message: "bad key sk-secret-1"}})
	_, err := client(t, s.URL(), llm.Options{Keys: llm.StaticKeys("sk-secret-1")}).Stream(context.Background(), ask("hi"), nil)
	if err == nil || strings.Contains(err.Error(), "sk-secret-1") || !strings.Contains(err.Error(), "bad key [key]") {
		t.Fatalf("got %v", err)
	}
}
