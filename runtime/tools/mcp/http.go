package mcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote is the transport of a remote server.
type remote struct {
	sdk.Transport
	conns *http.Transport
}

// newRemote makes the transport. Its requests end with ctx, whoever has made them.
func newRemote(ctx context.Context, home string, s *Server) (*remote, error) {
	endpoint, err := url.Parse(s.URL)
	if err != nil {
		return nil, &startError{errors.New("url must be an http or https URL")}
	}
	config, err := tlsConfig(home, s)
	if err != nil {
		return nil, &startError{err}
	}
	conns := &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, MaxResponseHeaderBytes: 1 << 20,
	}
	client := &http.Client{
		Transport: &guarded{ctx: ctx, endpoint: endpoint, headers: s.Headers, next: conns},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= 5 {
				return errors.New("too many redirects")
			}
			return nil // guarded refuses another host
		},
	}
	r := &remote{conns: conns}
	if s.SSE {
		r.Transport = &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}
	} else {
		r.Transport = &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}
	}
	return r, nil
}

func (r *remote) release()                { r.conns.CloseIdleConnections() }
func (r *remote) explain(err error) error { return err }

// tlsConfig reads the certificates of the declaration.
func tlsConfig(home string, s *Server) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.SkipVerify} // asked for by ssl_verify: false
	if s.CA != "" {
		raw, err := os.ReadFile(within(home, s.CA))
		if err != nil {
			return nil, fmt.Errorf("ssl_verify: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(raw) {
			return nil, errors.New("ssl_verify: the file holds no certificate")
		}
	}
	if s.ClientCert != "" {
		key := s.ClientKey
		if key == "" {
			key = s.ClientCert
		}
		pair, err := tls.LoadX509KeyPair(within(home, s.ClientCert), within(home, key))
		if err != nil {
			return nil, fmt.Errorf("client_cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// guarded sends a server's requests: to the declared host only, with the declared headers, and with bounded answers.
type guarded struct {
	ctx      context.Context
	endpoint *url.URL
	headers  map[string]string
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != g.endpoint.Scheme || req.URL.Host != g.endpoint.Host {
		// Headers hold credentials: they are never for whom the server names.
		return nil, fmt.Errorf("the server sends to another address, %s://%s: declare that one if it is meant", req.URL.Scheme, req.URL.Host)
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(g.ctx, cancel)
	end := func() { stop(); cancel() }
	req = req.Clone(ctx)
	for name, value := range g.headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		end()
		return nil, err
	}
	body := &boundedBody{ReadCloser: resp.Body, end: end, left: -1}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body.left = maxMessage // of a stream, the SDK bounds each event
	}
	resp.Body = body
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		_ = body.Close()
		return nil, &startError{fmt.Errorf("the server refuses the credentials: %s: check its headers", resp.Status)}
	}
	return resp, nil
}

// boundedBody is an answer that ends, and that ends its request.
type boundedBody struct {
	io.ReadCloser
	end  func()
	left int64 // negative: no bound
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.ReadCloser.Read(p)
	}
	if b.left == 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
