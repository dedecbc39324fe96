package llm

import (
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"
)

func dialError(err error) error {
	return &url.Error{Op: "Post", URL: "https://h/v1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
}

var (
	refused   = dialError(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	noHost    = dialError(&net.DNSError{Err: "no such host", Name: "api.example.com", Server: "127.0.0.53:53", IsNotFound: true})
	slowNames = dialError(&net.DNSError{Err: "i/o timeout", Name: "api.example.com", IsTimeout: true})
	reset     = &url.Error{Op: "Post", Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}
)

// TestConnectText: an error of the connection says what happened once, and not that it was a timeout.
func TestConnectText(t *testing.T) {
	for name, tc := range map[string]struct {
		host string
		err  error
		want string
	}{
		"no such host":   {"api.example.com", noHost, "cannot connect to api.example.com: no such host"},
		"refused":        {"api.example.com", refused, "cannot connect to api.example.com: connection refused"},
		"refused here":   {"127.0.0.1:9", refused, "cannot connect to the local model server 127.0.0.1:9: connection refused; is it running?"},
		"slow names":     {"api.example.com", slowNames, "cannot connect to api.example.com: i/o timeout"},
		"broken off":     {"api.example.com", reset, "the connection to api.example.com broke: connection reset by peer"},
		"nothing at all": {"api.example.com", errors.New("EOF"), "the connection to api.example.com broke: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Error{Verdict: classifyTransport(tc.err), Code: CodeConnect, Host: tc.host, Message: connectMessage(tc.host, tc.err), Err: tc.err}
			if e.Reason != ReasonTimeout || e.Error() != tc.want {
				t.Errorf("%s %q, want %q", e.Reason, e.Error(), tc.want)
			}
		})
	}
}

// TestTurnedAwayIsTriedBriefly: nobody waits ten seconds to hear that a host does not exist.
func TestTurnedAwayIsTriedBriefly(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		brief bool
	}{"refused": {refused, true}, "no such host": {noHost, true}, "slow names": {slowNames, false}, "reset": {reset, false}} {
		t.Run(name, func(t *testing.T) {
			e := &Error{Verdict: classifyTransport(tc.err), Code: CodeConnect, Err: tc.err}
			var tr tried
			for {
				act, wait := DefaultPolicy().decide(tr, e, 0.999)
				if act != waitSame {
					break
				}
				tr.retries, tr.waited = tr.retries+1, tr.waited+wait
			}
			if tr.retries != 3 || (tr.waited <= 3*time.Second) != tc.brief {
				t.Errorf("%d retries in %s", tr.retries, tr.waited)
			}
		})
	}
}
