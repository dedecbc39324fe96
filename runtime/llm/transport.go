package llm

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Timeouts of one attempt. Zero values take the defaults.
type Timeouts struct {
	// Connect bounds name resolution and the TCP handshake, and separately the TLS handshake. Default 15 s.
	Connect time.Duration
	// FirstByte bounds the wait for the first byte of the answer's body: a long prompt takes its time. Default 300 s.
	FirstByte time.Duration
	// Idle bounds the silence between two bytes of a stream. Default 120 s.
	Idle time.Duration
	// Content bounds how long a stream may carry nothing but keepalives (L9); reasoning models think for minutes
	// behind them. Default 300 s.
	Content time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&t.Connect, 15*time.Second)
	def(&t.FirstByte, 300*time.Second)
	def(&t.Idle, 120*time.Second)
	def(&t.Content, 300*time.Second)
	return t
}

// NewTransport makes the connections of model calls. One transport can serve every profile of a process: it holds no
// key. It uses no proxy, least of all one named by the process environment, verifies certificates, and does not ask
// for compression, so that a size limit counts what is on the wire.
func NewTransport(connect time.Duration) *http.Transport {
	connect = Timeouts{Connect: connect}.withDefaults().Connect
	d := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            d.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
