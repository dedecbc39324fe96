package host

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answerOnce serves one connection with raw bytes in place of a gateway.
func answerOnce(t *testing.T, home, answer string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(home, SocketFileName))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := readLine(conn, MaxRequestBytes); err == nil {
			_, _ = io.WriteString(conn, answer)
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
}

// G-243: every failure is "no answer", whatever came back.
func TestMalformedAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"closed without a byte":        "",
		"not JSON":                     "hello\n",
		"list":                         "[]\n",
		"ok missing":                   `{"result":{"kind":"hermes-gateway","pid":3}}` + "\n",
		"ok a string":                  `{"ok":"true","result":{"kind":"hermes-gateway","pid":3}}` + "\n",
		"ok false":                     `{"ok":false,"error":"no","result":{"kind":"hermes-gateway","pid":3}}` + "\n",
		"no result":                    `{"ok":true}` + "\n",
		"result null":                  `{"ok":true,"result":null}` + "\n",
		"result a list":                `{"ok":true,"result":[]}` + "\n",
		"result a string":              `{"ok":true,"result":"x"}` + "\n",
		"pid of another type":          `{"ok":true,"result":{"kind":"hermes-gateway","pid":"3"}}` + "\n",
		"G-248 no pid":                 `{"ok":true,"result":{"kind":"hermes-gateway"}}` + "\n",
		"G-248 not a gateway":          `{"ok":true,"result":{"kind":"nginx","pid":3}}` + "\n",
		"torn":                         `{"ok":true,"result":{"kind":"hermes-ga`,
		"not UTF-8":                    "{\"ok\":true,\"result\":{\"kind\":\"hermes-gateway\",\"pid\":3,\"profile\":\"\xff\"}}\n",
		"longer than 512 KiB":          `{"ok":true,"result":{"kind":"hermes-gateway","pid":3,"profile":"` + strings.Repeat("x", MaxResponseBytes) + `"}}` + "\n",
		"deeper than any honest reply": strings.Repeat(`{"result":`, 20_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			home := shortDir(t)
			answerOnce(t, home, answer)
			identity, err := NewClient(home).Identify(t.Context())
			var why *NoAnswerError
			if !errors.Is(err, ErrNoAnswer) || !errors.As(err, &why) || why.Verb != VerbIdentify || why.Home != home || identity.PID != 0 {
				t.Errorf("%+v, %v", identity, err)
			}
		})
	}
}

// An empty result is not an answer either, even for a verb whose result has no required member.
func TestNullResultIsNoAnswer(t *testing.T) {
	home := shortDir(t)
	answerOnce(t, home, `{"ok":true,"protocol":1,"result":null,"id":1}`+"\n")
	if state, err := NewClient(home).Drain(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%+v, %v", state, err)
	}
}

// The reason a gateway gives is passed on.
func TestRefusalIsNamed(t *testing.T) {
	home := shortDir(t)
	answerOnce(t, home, `{"ok":false,"error":"unknown verb \"drain\"","protocol":1}`+"\n")
	_, err := NewClient(home).Drain(t.Context())
	mustContain(t, err, `did not answer drain: refused: unknown verb "drain"`)
}

// An answer as another implementation gives it: more members, nulls, and a byte less at the end.
func TestForeignIdentity(t *testing.T) {
	home := shortDir(t)
	answerOnce(t, home, `{"ok":true,"protocol":1,"result":{"kind":"hermes-gateway","pid":3,"start_time":null,"profile":"ops","code_dirty":true,"served_profiles":[{"profile_id":"ops"}]},"id":1}`)
	identity, err := NewClient(home).Identify(t.Context())
	if err != nil || identity.PID != 3 || identity.StartTime != 0 || len(identity.Served()) != 1 {
		t.Errorf("%+v, %v", identity, err)
	}
}

// G-243: nobody there, in every way there is.
func TestNobodyAnswers(t *testing.T) {
	empty, left, file, foreign := shortDir(t), shortDir(t), shortDir(t), shortDir(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(left, SocketFileName), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(file, SocketFileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, ServerConfig{Home: foreign})
	badPointer := homeWithSocketPath(t, 120)
	if err := os.WriteFile(filepath.Join(badPointer, PointerFileName), []byte("relative/path\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*Client{
		"no socket":              NewClient(empty),
		"socket of a dead owner": NewClient(left),
		"not a socket":           NewClient(file),
		"missing home":           NewClient(filepath.Join(empty, "gone")),
		"socket of another user": {Home: foreign, UID: os.Getuid() + 1},
		"pointer is missing":     NewClient(homeWithSocketPath(t, 130)),
		"pointer is damaged":     NewClient(badPointer),
	} {
		if _, err := client.Identify(t.Context()); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// G-242, G-246: the default patience, and that a caller can give up earlier.
func TestClientPatience(t *testing.T) {
	if RequestTimeout != 2*time.Second || RescanTimeout != 8*time.Second || NewClient("/h").timeout() != RequestTimeout {
		t.Error("default timeouts differ from the protocol's")
	}
	home := shortDir(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(home, SocketFileName))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewClient(home).RescanProfiles(ctx); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	client := NewClient(home)
	client.Timeout, client.RescanTimeout = 30*time.Millisecond, 30*time.Millisecond
	if _, err := client.Identify(t.Context()); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody accepts: %v", err)
	}
	if _, err := client.RescanProfiles(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody accepts a rescan: %v", err)
	}
}
