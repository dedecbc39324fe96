package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func dial(t *testing.T, home string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "unix", filepath.Join(home, SocketFileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchangeRaw sends bytes and returns everything that comes back before the server closes. A connection that is reset
// counts as closed.
func exchangeRaw(t *testing.T, home, sent string) string {
	t.Helper()
	conn := dial(t, home)
	if _, err := io.WriteString(conn, sent); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return string(got)
}

// T-023, G-242: replies to requests that cannot be served.
func TestRefusedRequests(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home})
	const verbs = `"supported_verbs":["drain","identify","rescan-profiles","status"]`
	for _, tc := range []struct{ name, sent, want string }{
		{"T-023 unknown verb", `{"verb":"nope","id":7}`, `{"ok":false,"protocol":1,"error":"unknown verb \"nope\"",` + verbs + `,"id":7}`},
		{"id is repeated whatever it is", `{"verb":"nope","id":{"a":[1,null]}}`, `{"ok":false,"protocol":1,"error":"unknown verb \"nope\"",` + verbs + `,"id":{"a":[1,null]}}`},
		{"no verb", `{"id":7}`, `{"ok":false,"protocol":1,"error":"request has no verb: set \"verb\" to a string","id":7}`},
		{"verb of another type", `{"verb":7,"id":"q"}`, `{"ok":false,"protocol":1,"error":"request has no verb: set \"verb\" to a string","id":"q"}`},
		{"not JSON", `identify`, `{"ok":false,"protocol":1,"error":"request is not a JSON object: send {\"verb\": \"identify\"} on one line","id":null}`},
		{"empty line", ``, `{"ok":false,"protocol":1,"error":"request is not a JSON object: send {\"verb\": \"identify\"} on one line","id":null}`},
		{"list", `[]`, `{"ok":false,"protocol":1,"error":"request is not a JSON object: send {\"verb\": \"identify\"} on one line","id":null}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := exchangeRaw(t, home, tc.sent+"\n"); got != tc.want+"\n" {
				t.Errorf("got  %swant %s", got, tc.want)
			}
		})
	}
}

// G-242: one request per connection; what follows the first line is not looked at.
func TestOneRequestPerConnection(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home})
	got := exchangeRaw(t, home, "{\"verb\":\"drain\",\"id\":1}\n{\"verb\":\"drain\",\"id\":2}\n")
	if strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\"id\":1}\n") {
		t.Errorf("got %s", got)
	}
}

// T-024, G-242: up to 64 KiB are read; more is dropped without a reply.
func TestRequestSize(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home})
	sized := func(n int) string {
		const head, tail = `{"verb":"drain","id":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	if got := exchangeRaw(t, home, sized(MaxRequestBytes)+"\n"); !strings.HasPrefix(got, `{"ok":true`) {
		t.Errorf("64 KiB: %.60q", got)
	}
	for _, n := range []int{MaxRequestBytes + 1, 70 << 10, 2 << 20} {
		if got := exchangeRaw(t, home, sized(n)+"\n"); got != "" {
			t.Errorf("%d bytes: %.60q", n, got)
		}
	}
	if _, err := NewClient(home).Identify(t.Context()); err != nil {
		t.Errorf("after overlong requests: %v", err)
	}
}

// G-242: a client that does not send loses its connection after the read timeout, and cannot lock others out.
func TestReadTimeout(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home, ReadTimeout: 100 * time.Millisecond})
	silent := make([]net.Conn, maxConnections+8)
	silent[0] = dial(t, home)
	if _, err := silent[0].Write([]byte(`{"verb":"dr`)); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(silent); i++ {
		silent[i] = dial(t, home)
	}
	if _, err := NewClient(home).Identify(t.Context()); err != nil {
		t.Errorf("behind silent clients: %v", err)
	}
	for i, conn := range silent {
		if got, err := io.ReadAll(conn); err != nil || len(got) != 0 {
			t.Fatalf("silent client %d got %q, %v", i, got, err)
		}
	}
}

// However many clients connect, only so many are held at once; the next is served as soon as one leaves.
func TestConnectionsAreBounded(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home, ReadTimeout: time.Hour})
	silent := make([]net.Conn, maxConnections)
	for i := range silent {
		silent[i] = dial(t, home)
	}
	client := NewClient(home)
	client.Timeout = 50 * time.Millisecond
	if _, err := client.Identify(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one connection too many: %v", err)
	}
	if err := silent[0].Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(home).Identify(t.Context()); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

// G-242: an oversized reply becomes an error.
func TestOversizedReply(t *testing.T) {
	home := shortDir(t)
	profiles := make(ServedProfiles, 20_000)
	for i := range profiles {
		profiles[i] = strings.Repeat("p", 30)
	}
	serve(t, ServerConfig{Home: home, Handler: fakeGateway{identify: func() Identity { return Identity{PID: 12, ServedProfiles: profiles} }}})
	got := exchangeRaw(t, home, `{"verb":"identify","id":5}`+"\n")
	if !strings.HasPrefix(got, `{"ok":false,"protocol":1,"error":"reply of `) || !strings.HasSuffix(got, `larger than 524288","id":5}`+"\n") {
		t.Errorf("got %.200s", got)
	}
	if _, err := NewClient(home).Identify(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("client: %v", err)
	}
}

func TestEncodeResponseAlwaysFits(t *testing.T) {
	hugeID := json.RawMessage(`"` + strings.Repeat("x", MaxResponseBytes) + `"`)
	for name, r := range map[string]response{
		"huge id":      {OK: true, Protocol: 1, Result: Rescan{}, ID: hugeID},
		"not encoded":  {OK: true, Protocol: 1, Result: make(chan int), ID: json.RawMessage("3")},
		"id is broken": {OK: true, Protocol: 1, Result: Rescan{}, ID: json.RawMessage("{")},
	} {
		line := encodeResponse(r)
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil || len(line) > MaxResponseBytes || fields["ok"] != false {
			t.Errorf("%s: %.100s, %v", name, line, err)
		}
	}
}

// A panic in a handler is that request's error and nobody else's.
func TestHandlerPanic(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home, Handler: fakeGateway{status: func() Status { panic("boom") }}})
	if got := exchangeRaw(t, home, `{"verb":"status","id":9}`+"\n"); got != `{"ok":false,"protocol":1,"error":"internal error while handling status","id":9}`+"\n" {
		t.Errorf("got %s", got)
	}
	if _, err := NewClient(home).Identify(t.Context()); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// G-242: a slow handler holds up nobody. G-246: a rescan is waited for longer than the other verbs.
func TestSlowHandler(t *testing.T) {
	home := shortDir(t)
	release := make(chan struct{})
	serve(t, ServerConfig{Home: home, Handler: fakeGateway{
		rescan: func(context.Context) Rescan { <-release; return Rescan{Rescanned: true} },
		status: func() Status { <-release; return Status{} },
	}})
	impatient := NewClient(home)
	impatient.Timeout = 50 * time.Millisecond
	answered := make(chan error, 1)
	go func() {
		_, err := impatient.RescanProfiles(context.Background())
		answered <- err
	}()
	if _, err := impatient.Status(t.Context()); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("status of a stuck handler: %v", err)
	}
	if _, err := NewClient(home).Identify(t.Context()); err != nil {
		t.Errorf("identify beside stuck handlers: %v", err)
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("rescan that took longer than the plain timeout: %v", err)
	}
}

// G-241: Close does not wait for silent clients and ends the context of running handlers.
func TestCloseEndsConnections(t *testing.T) {
	home := shortDir(t)
	entered := make(chan struct{})
	server := serve(t, ServerConfig{Home: home, ReadTimeout: time.Hour, Handler: fakeGateway{
		drain: func(ctx context.Context) DrainState { close(entered); <-ctx.Done(); return DrainState{ActiveWork: 7} },
	}})
	silent := dial(t, home)
	answer := make(chan DrainState, 1)
	go func() {
		state, _ := NewClient(home).Drain(context.Background())
		answer <- state
	}()
	<-entered
	for range 2 {
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-answer; got.ActiveWork != 7 {
		t.Errorf("request in flight was answered with %+v", got)
	}
	if got, err := io.ReadAll(silent); len(got) != 0 || (err != nil && !errors.Is(err, syscall.ECONNRESET)) {
		t.Errorf("silent client: %q, %v", got, err)
	}
	if _, err := NewClient(home).Identify(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("after close: %v", err)
	}
}
