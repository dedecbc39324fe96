package mcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func httpHandler(t testing.TB) http.Handler {
	s := newTestServer()
	t.Cleanup(func() { // the SDK keeps sessions whose clients were cut off
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func statelessHandler(testing.TB) http.Handler {
	s := newTestServer()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// serveHTTP runs a server until the test is over. Streams that clients leave open are cut then.
func serveHTTP(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func remoteServer(name, url string, more ...any) Server {
	m := map[string]any{"url": url}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return Parse(name, m)
}

// T15: a remote server works over each protocol and transport, with the declared headers on every request.
func TestT15Remote(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler func(testing.TB) http.Handler
		more    []any
	}{
		{"auto", httpHandler, nil},
		{"stateless", statelessHandler, []any{"protocol", "stateless"}},
		{"legacy", httpHandler, []any{"protocol", "legacy"}},
		{"sse", func(testing.TB) http.Handler {
			s := newTestServer()
			return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
		}, []any{"transport", "sse"}},
		{"type sse", func(testing.TB) http.Handler {
			s := newTestServer()
			return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
		}, []any{"type", "sse"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bare atomic.Int64
			h := c.handler(t)
			web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer sesame" {
					bare.Add(1)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				h.ServeHTTP(w, r)
			}))
			r := newRig(t)
			r.sync(remoteServer("web", web.URL, append(c.more, "headers", map[string]any{"Authorization": "Bearer sesame"})...))
			r.until("web", PhaseConnected)
			if got := r.mustRun("mcp__web__echo", "over "+c.name); got != "echo over "+c.name {
				t.Error(got)
			}
			if bare.Load() != 0 {
				t.Errorf("%d requests without the header", bare.Load())
			}
		})
	}
}

// What is wrong is said in few words, without what must not be shown, and connecting goes on.
func TestRemoteFaults(t *testing.T) {
	elsewhere := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("another host was sent the credentials: %s", r.Header.Get("Authorization"))
		}
	}))
	for _, c := range []struct {
		name, want string
		handler    http.HandlerFunc
		more       []any
	}{
		{"refused credentials", "refuses the credentials: 401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, nil},
		{"hangs", "no answer within", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that the client has gone
			<-r.Context().Done()
		}, []any{"connect_timeout", 0.4}},
		{"redirects to another host", "the server sends to another address, " + elsewhere.URL, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, nil},
		{"endless answer", "16 MiB", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for junk := []byte(strings.Repeat("x", 1<<16)); ; {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, nil},
		{"no MCP", "unsupported content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<h1>hello</h1>")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := serveHTTP(t, c.handler)
			r := newRig(t)
			r.sync(remoteServer("web", web.URL+"/?key=topsecretvalue", append(c.more, "headers", map[string]any{"Authorization": "Bearer sesame"})...))
			eventually(t, "it says what is wrong", func() bool { return r.info("web").Why != "" })
			got := r.until("web", PhaseLost)
			if !strings.Contains(got.Why, c.want) || strings.Contains(got.Why, "sesame") || strings.Contains(got.Why, "topsecret") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// T19: a remote server that goes away and comes back is there again.
func TestT19RemoteComesBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	serve := func(l net.Listener) *httptest.Server {
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: httpHandler(t)}}
		s.Start()
		return s
	}
	web := serve(listener)
	r := newRig(t)
	r.sync(remoteServer("web", "http://"+address))
	r.until("web", PhaseConnected)
	names := r.names()
	web.CloseClientConnections()
	web.Close()
	got := r.run(t.Context(), "mcp__web__echo", "x")
	if !got.IsError || !strings.Contains(got.Content, "MCP server web") {
		t.Errorf("%+v", got)
	}
	r.until("web", PhaseLost)
	if r.names() != names {
		t.Error("the list has changed within the grace")
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	web = serve(listener)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	r.until("web", PhaseConnected)
	if got := r.mustRun("mcp__web__echo", "again"); got != "echo again" {
		t.Error(got)
	}
}

// T15: ssl_verify, client_cert and client_key.
func TestT15TLS(t *testing.T) {
	r := newRig(t)
	cert := clientCertificate(t, r)
	web := httptest.NewUnstartedServer(httpHandler(t))
	web.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	web.TLS.ClientCAs.AddCert(cert)
	web.Config.ErrorLog = nil
	web.StartTLS()
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(r.path("ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	pair := []any{"client_cert", "client.pem", "client_key", "client.key"}
	r.sync(
		remoteServer("good", web.URL, append(pair, "ssl_verify", "ca.pem")...),
		remoteServer("pair", web.URL, "client_cert", []any{"client.pem", "client.key"}, "ssl_verify", "ca.pem"),
		remoteServer("unverified", web.URL, append(pair, "ssl_verify", false)...),
		remoteServer("unknown-ca", web.URL, pair...),
		remoteServer("no-cert", web.URL, "ssl_verify", "ca.pem"),
		remoteServer("no-file", web.URL, "ssl_verify", "nothing.pem"),
	)
	for _, name := range []string{"good", "pair", "unverified"} {
		r.until(name, PhaseConnected)
	}
	for name, want := range map[string]string{"unknown-ca": "certificate", "no-cert": "certificate", "no-file": "ssl_verify: "} {
		eventually(t, name+" says what is wrong", func() bool { return r.info(name).Why != "" })
		if got := r.until(name, PhaseLost); !strings.Contains(got.Why, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func clientCertificate(t *testing.T, r *rig) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"client.pem": {Type: "CERTIFICATE", Bytes: raw}, "client.key": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(r.path(name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// A remote server that falls silent in a call ends the call at its timeout, and the server is told to stop.
func TestRemoteCallTimeout(t *testing.T) {
	for protocol, handler := range map[string]func(testing.TB) http.Handler{"stateless": statelessHandler, "legacy": httpHandler} {
		t.Run(protocol, func(t *testing.T) {
			web := serveHTTP(t, handler(t))
			r := newRig(t)
			r.sync(remoteServer("web", web.URL, "timeout", 2, "protocol", protocol))
			r.until("web", PhaseConnected)
			_, result := r.begin(context.Background(), "mcp__web__waits", "w")
			if got := <-result; !got.IsError || !strings.Contains(got.Content, "no answer within 2s") {
				t.Errorf("%+v", got)
			}
			if got := r.mustRun("mcp__web__echo", "after"); got != "echo after" {
				t.Error(got)
			}
		})
	}
}
