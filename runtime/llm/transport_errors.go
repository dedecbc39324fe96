package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// classifyTransport is the last stage of L22: what went wrong on the wire. A certificate failure is told from a
// transient TLS alert first (L26): the one needs a change of configuration, the other only another try.
func classifyTransport(err error) Verdict {
	if isCertificate(err) {
		return verdict(ReasonCertificate)
	}
	var dns *net.DNSError
	var op *net.OpError
	var nerr net.Error
	switch {
	case errors.As(err, &dns), errors.As(err, &op), errors.As(err, &nerr):
		return verdict(ReasonTimeout)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return verdict(ReasonFormat)
	}
	return verdict(ReasonTimeout) // resets, unexpected EOF, HTTP/2 stream errors: read failures all
}

// isDisconnect reports whether a server hung up on a request it had begun to take.
func isDisconnect(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &host) || errors.As(err, &authority) || errors.As(err, &invalid)
}

// connectMessage says why there is no answer from host: nothing could be connected to, or the connection broke.
func connectMessage(host string, err error) string {
	var dns *net.DNSError
	var op *net.OpError
	dialled := errors.As(err, &op) && op.Op == "dial"
	cause := rootCause(err).Error()
	if errors.As(err, &dns) {
		dialled, cause = true, dns.Err
	}
	switch {
	case !dialled:
		return fmt.Sprintf("the connection to %s broke: %s", host, cause)
	case isLoopback(host):
		return fmt.Sprintf("cannot connect to the local model server %s: %s; is it running?", host, cause)
	default:
		return fmt.Sprintf("cannot connect to %s: %s", host, cause)
	}
}

// turnedAway reports whether the network said at once that nobody is there: a name that does not exist, a port that
// nobody listens on. A long wait does not mend that while a person sits waiting.
func turnedAway(e *Error) bool {
	var dns *net.DNSError
	return errors.Is(e.Err, syscall.ECONNREFUSED) || errors.As(e.Err, &dns) && !dns.IsTimeout
}
