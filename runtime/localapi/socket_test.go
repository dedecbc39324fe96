package localapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// raw sends one request as it is and returns status, header and body.
func (r *rig) raw(method, path, body string) (int, http.Header, string) {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx(r.t), method, "http://gateway"+path, strings.NewReader(body))
	must(r.t, err)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(r.t, err)
	return resp.StatusCode, resp.Header, string(text)
}

func TestSocketIsPrivate(t *testing.T) {
	r := newRig(t)
	info, err := os.Stat(r.socket)
	must(t, err)
	if info.Mode().Perm() != 0o600 || filepath.Dir(r.socket) != r.root {
		t.Errorf("%s has mode %o", r.socket, info.Mode().Perm())
	}
	left, err := filepath.Glob(filepath.Join(r.root, ".gw*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	// A server that died left its socket; the next one takes the place.
	again, err := localapi.Serve(localapi.Config{Home: r.root, Backend: r, Log: logr.Discard()})
	must(t, err)
	if _, err := r.client.Models(ctx(t)); err != nil {
		t.Error(err)
	}
	must(t, again.Close(ctx(t)))
	if _, err := os.Stat(again.Path()); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
}

func TestSocketPathFits(t *testing.T) {
	long := "/" + strings.Repeat("x", 200)
	for _, c := range []struct{ home, temp, want string }{
		{"/home/a/.hermes", "/run/user/1", "/home/a/.hermes/gateway-api.sock"},
		{long, "/run/user/1", "/run/user/1/hermes-api-"},
		{long, long, "/tmp/hermes-api-"},
		{long, "", "/tmp/hermes-api-"},
	} {
		got := localapi.SocketPath(c.home, c.temp)
		if !strings.HasPrefix(got, c.want) || len(got) > 100 || got != localapi.SocketPath(c.home, c.temp) {
			t.Errorf("SocketPath(%.20s, %.20s) = %s", c.home, c.temp, got)
		}
	}
	if localapi.SocketPath(long, "/t") == localapi.SocketPath(long+"y", "/t") {
		t.Error("two homes, one socket")
	}
}

// TestSocketOfALongHome: the socket of a home with a long path is private too, is found where it says, and a server that
// ends late leaves its successor's alone.
func TestSocketOfALongHome(t *testing.T) {
	home, temp := filepath.Join(t.TempDir(), strings.Repeat("x", 120)), t.TempDir()
	must(t, os.MkdirAll(home, 0o700))
	r := newRig(t)
	serve := func() *localapi.Server {
		s, err := localapi.Serve(localapi.Config{Home: home, TempDir: temp, Backend: r, Log: logr.Discard()})
		must(t, err)
		return s
	}
	first := serve()
	info, err := os.Stat(first.Path())
	must(t, err)
	if filepath.Dir(first.Path()) != temp || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %o", first.Path(), info.Mode().Perm())
	}
	second := serve()
	must(t, first.Close(ctx(t)))
	client := localapi.NewClient(second.Path(), "")
	if _, err := client.Models(ctx(t)); err != nil {
		t.Errorf("the first server took the second one's socket along: %v", err)
	}
	must(t, second.Close(ctx(t)))
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestBadRequests get one clear error each, and start nothing.
func TestBadRequests(t *testing.T) {
	r := newRig(t)
	user := `"messages":[{"role":"user","content":"x"}]`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code, says         string
	}{
		"huge body":         {"POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"user","content":"` + strings.Repeat("x", 9<<20) + `"}]}`, 413, "too_large", "8 MiB"},
		"unknown profile":   {"POST", "/v1/chat/completions", `{"model":"nobody",` + user + `}`, 404, "model_not_found", "hermes status profile/nobody"},
		"no profile":        {"POST", "/v1/chat/completions", `{` + user + `}`, 400, "invalid_request", "name the profile"},
		"not JSON":          {"POST", "/v1/chat/completions", `{`, 400, "invalid_request", "not the JSON"},
		"two values":        {"POST", "/v1/chat/completions", `{"model":"alice",` + user + `} {}`, 400, "invalid_request", "follows"},
		"no messages":       {"POST", "/v1/chat/completions", `{"model":"alice"}`, 400, "invalid_request", "messages is empty"},
		"assistant last":    {"POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"assistant","content":"x"}]}`, 400, "invalid_request", "role user"},
		"blank":             {"POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"user","content":"  "}]}`, 400, "invalid_request", "some text"},
		"an image":          {"POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "invalid_request", "image_url"},
		"a tool message":    {"POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"tool","content":"x"},{"role":"user","content":"x"}]}`, 400, "invalid_request", "role \\\"tool\\\""},
		"two choices":       {"POST", "/v1/chat/completions", `{"model":"alice","n":2,` + user + `}`, 400, "invalid_request", "n must be 1"},
		"session with line": {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"session":"a\nb"},` + user + `}`, 400, "invalid_request", "printable"},
		"long session":      {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"session":"` + strings.Repeat("s", 129) + `"},` + user + `}`, 400, "invalid_request", "128"},
		"odd source":        {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"source":"a b"},` + user + `}`, 400, "invalid_request", "hermes.source"},
		"resume nothing":    {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"resume":true}}`, 400, "invalid_request", "hermes.session"},
		"resume unknown":    {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"resume":true,"session":"20261129_120000_0000000000"}}`, 400, "invalid_turn", "no session"},
		"mistyped session":  {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"session":"20261129_12000_0000000000"},` + user + `}`, 404, "session_not_found", "leave the session out"},
		"resume a typo":     {"POST", "/v1/chat/completions", `{"model":"alice","hermes":{"resume":true,"session":"none"}}`, 404, "session_not_found", "no session"},
		"limit":             {"GET", "/v1/profiles/alice/sessions?limit=0", "", 400, "invalid_request", "limit"},
		"sessions of none":  {"GET", "/v1/profiles/nobody/sessions", "", 404, "model_not_found", "nobody"},
		"unknown path":      {"GET", "/v1/embeddings", "", 404, "unknown_path", "/v1/embeddings"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := r.raw(c.method, c.path, c.body)
			if status != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) || !strings.Contains(body, c.says) {
				t.Errorf("%d %.300s", status, body)
			}
		})
	}
	if n := len(r.model.Requests()); n != 0 {
		t.Errorf("%d requests reached the model", n)
	}
	if list, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{}); err != nil || len(list) != 0 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

// TestRetryHeaders: a client library that tries again by itself would say everything twice.
func TestRetryHeaders(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.RateLimit("30"))
	body := `{"model":"alice","messages":[{"role":"user","content":"x"}]}`
	status, header, _ := r.raw("POST", "/v1/chat/completions", body)
	if status != 429 || header.Get("X-Should-Retry") != "false" || (header.Get("Retry-After") != "30" && header.Get("Retry-After") != "29") {
		t.Errorf("%d %v", status, header)
	}
	r.openProfile("alice", profilehome.Model(r.model.URL(), "")) // revoked
	status, header, text := r.raw("POST", "/v1/chat/completions", body)
	if status != 424 || header.Get("X-Should-Retry") != "false" || !strings.Contains(text, "credential_missing") {
		t.Errorf("%d %v %s", status, header, text)
	}
}

// TestPlainStream: a client that knows nothing of our events gets OpenAI's chunks and nothing else, and text that does
// not belong together is kept apart.
func TestPlainStream(t *testing.T) {
	r := newRig(t)
	r.model.Script(
		fakemodel.Turn{Text: "Looking.", ToolCalls: []fakemodel.ToolCall{call("1", "list_dir", `{"path":"."}`)}},
		fakemodel.Turn{Text: "half of a long answer", Fault: fakemodel.Fault{TruncateAfter: 400}}, fakemodel.Text("Empty."))
	status, header, body := r.raw("POST", "/v1/chat/completions", `{"model":"alice","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`)
	if status != 200 || header.Get("Content-Type") != "text/event-stream" || header.Get(localapi.SessionHeader) == "" || strings.Contains(body, "event:") {
		t.Fatalf("%d %v %s", status, header, body)
	}
	var text string
	roles, usage := 0, false
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c localapi.Completion
		must(t, json.Unmarshal([]byte(data), &c))
		usage = usage || c.Usage != nil && len(c.Choices) == 0
		for _, choice := range c.Choices {
			text += choice.Delta.Content
			if choice.Delta.Role != "" {
				roles++
			}
		}
	}
	if !strings.HasPrefix(text, "Looking.\n\nhalf") || !strings.HasSuffix(text, "[the answer broke off here and starts again]\n\nEmpty.") || roles != 1 || !usage || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("text %q, %d roles, usage %v", text, roles, usage)
	}
}

// TestSlowClient: one that does not read holds nothing but itself, and leaving ends its turn.
func TestSlowClient(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Turn{Text: strings.Repeat("0123456789abcdef", 1<<16), ChunkSize: 4096})
	conn, err := net.Dial("unix", r.socket)
	must(t, err)
	body := `{"model":"alice","stream":true,"hermes":{"session":"` + idOf("slow") + `"},"messages":[{"role":"user","content":"x"}]}`
	_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	must(t, err)
	_, err = r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	for range 20 {
		_, err := r.client.Complete(ctx(t), say("", "hello"))
		must(t, err)
	}
	must(t, conn.Close())
	r.settled(idOf("slow"))
	if _, err := r.client.Complete(ctx(t), say(idOf("slow"), "again")); err != nil {
		t.Error(err)
	}
}

// TestSlowBody: a body that never comes ends when its sender does, and keeps nobody else out.
func TestSlowBody(t *testing.T) {
	r := newRig(t)
	conn, err := net.Dial("unix", r.socket)
	must(t, err)
	_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n\r\n{")
	must(t, err)
	if _, err := r.client.Complete(ctx(t), say("", "hello")); err != nil {
		t.Error(err)
	}
	must(t, conn.Close())
}

func TestCorruptStoreIsTold(t *testing.T) {
	r := newRig(t)
	must(t, os.WriteFile(filepath.Join(r.root, "profiles", "alice", "state.db"), []byte(strings.Repeat("not a database ", 500)), 0o600))
	_, err := r.client.Complete(ctx(t), say(idOf("s"), "hello"))
	if e := apiError(t, err); e.Status != 503 || e.Code != "store_corrupt" || !strings.Contains(e.Message, "restore a backup") {
		t.Errorf("%+v", e)
	}
	if _, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{}); apiError(t, err).Code != "store_corrupt" {
		t.Error(err)
	}
}

func TestBadConfigurationIsTold(t *testing.T) {
	r := newRig(t)
	must(t, os.WriteFile(filepath.Join(r.root, "profiles", "alice", "config.yaml"), []byte("model: ["), 0o600))
	_, err := r.client.Stream(ctx(t), say(idOf("s"), "hello"), nothing)
	if e := apiError(t, err); e.Status != 503 || e.Code != "config_invalid" {
		t.Errorf("%+v", e)
	}
}

// BenchmarkTurnThroughSocket is one streamed turn of the demo model, rows stored.
func BenchmarkTurnThroughSocket(b *testing.B) {
	r := newRig(b)
	r.openProfile("demo", profilehome.Demo())
	req := say(idOf("s"), "hello")
	req.Model = "demo"
	began := time.Now()
	for i := range b.N {
		req.Hermes.Session = fmt.Sprint("s", i%50)
		if _, err := r.client.Stream(context.Background(), req, nothing); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "turns/s")
}
