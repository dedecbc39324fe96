package localapi_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestSlowBodiesAreAnsweredAndClosed: a client that stalls or drips its body gets an answer when its time is over and
// loses the connection, also where the handler does not read the body, and where it did not like the beginning.
func TestSlowBodiesAreAnsweredAndClosed(t *testing.T) {
	r := newRig(t)
	server, err := localapi.Serve(localapi.Config{
		Home: t.TempDir(), TempDir: t.TempDir(), Backend: r, BodyPatience: 300 * time.Millisecond, Log: logr.Discard(),
	})
	must(t, err)
	defer func() { must(t, server.Close(ctx(t))) }()
	for name, c := range map[string]struct {
		path, begins string
		drip         bool
		status       int
	}{
		"stalled":           {"/v1/chat/completions", "{", false, http.StatusRequestTimeout},
		"dripping":          {"/v1/chat/completions", "{", true, http.StatusRequestTimeout},
		"not JSON, stalled": {"/v1/chat/completions", "x", false, http.StatusBadRequest},
		"not read at all":   {"/v1/profiles/alice/sessions/s/interrupt", "", true, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", server.Path())
			must(t, err)
			var dripping sync.WaitGroup
			defer dripping.Wait()
			defer conn.Close()
			_, err = conn.Write([]byte("POST " + c.path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + c.begins))
			must(t, err)
			if c.drip {
				dripping.Go(func() {
					for every := time.NewTicker(20 * time.Millisecond); ; <-every.C {
						if _, err := conn.Write([]byte(" ")); err != nil {
							return
						}
					}
				})
			}
			must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			must(t, err)
			defer resp.Body.Close()
			if resp.StatusCode != c.status || !resp.Close {
				t.Errorf("%s, close %t", resp.Status, resp.Close)
			}
			for err == nil {
				_, err = in.ReadByte()
			}
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				t.Error("the connection stays open")
			}
		})
	}
}

// TestQuietClientKeepsItsTurn: the time to send a body is not the time that a turn may take.
func TestQuietClientKeepsItsTurn(t *testing.T) {
	r := newRig(t)
	const patience = 50 * time.Millisecond
	server, err := localapi.Serve(localapi.Config{
		Home: t.TempDir(), TempDir: t.TempDir(), Backend: r, BodyPatience: patience, Log: logr.Discard(),
	})
	must(t, err)
	defer func() { must(t, server.Close(ctx(t))) }()
	r.socket = server.Path()
	gate := make(chan struct{})
	time.AfterFunc(4*patience, func() { close(gate) })
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Turn{Text: "hi", Gate: gate} })
	status, _, body := r.raw("POST", "/v1/chat/completions", `{"model":"alice","messages":[{"role":"user","content":"x"}]}`)
	if status != http.StatusOK || !strings.Contains(body, "chat.completion") {
		t.Errorf("%d %s", status, body)
	}
}
