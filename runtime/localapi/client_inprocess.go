package localapi

import (
	"bytes"
	"io"
	"net/http"
)

// NewInProcessClient makes a client of a handler in this very process, for when no gateway serves a profile: one
// way to ask, wherever the store is open. Answers are held in memory as a whole.
func NewInProcessClient(handler http.Handler) *Client {
	return &Client{http: &http.Client{Transport: inProcess{handler}}}
}

type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if v := recover(); v == http.ErrAbortHandler { // a panic's value, not an error that was returned
			resp, err = nil, io.ErrUnexpectedEOF
		} else if v != nil {
			panic(v)
		}
	}()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	p.handler.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}, nil
}

// recorder is the ResponseWriter of an answer in memory.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
