package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
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

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &host) || errors.As(err, &authority) || errors.As(err, &invalid)
}
