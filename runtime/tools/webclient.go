package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	webPatience  = 30 * time.Second
	maxRedirects = 10
)

// WebConfig says what web_fetch may reach.
type WebConfig struct {
	// AllowPrivate lists addresses, ranges and names of hosts that may be fetched from although they are not on the
	// public internet (web.allow_private).
	AllowPrivate []string
	// Resolve looks a host's addresses up; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// webDialer connects to what reach allows. The address is judged where it is connected to, so that a name that
// resolves differently from one moment to the next gains nothing.
type webDialer struct {
	reach   reach
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

func (d webDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		if err := d.reach.check(host, a); err != nil {
			errs = append(errs, err)
			continue
		}
		dialer := net.Dialer{Timeout: webPatience / 2, Control: func(_, connected string, _ syscall.RawConn) error {
			// The last word, on the address the kernel is given.
			at, err := netip.ParseAddrPort(connected)
			if err != nil {
				return err
			}
			return d.reach.check(host, at.Addr())
		}}
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (d webDialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := d.resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return addrs, err
}

func systemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// redirectError is a redirection that is left to the model, because the person has been asked about another host.
type redirectError struct{ to string }

func (e *redirectError) Error() string { return "it redirects to " + e.to }

// webClient fetches one page: no proxy, no cookies, no connection that outlives it.
func (s *Set) webClient() (*http.Client, func(), error) {
	r, err := parseReach(s.config.Web.AllowPrivate)
	if err != nil {
		return nil, nil, err
	}
	d := webDialer{reach: r, resolve: s.config.Web.Resolve}
	if d.resolve == nil {
		d.resolve = systemResolve
	}
	t := &http.Transport{
		DialContext: d.dial, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: webPatience / 2, ResponseHeaderTimeout: webPatience, MaxResponseHeaderBytes: 256 << 10,
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}, t.CloseIdleConnections, nil
}

func checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	from := via[len(via)-1].URL
	if err := checkURL(next.URL); err != nil {
		return err
	}
	if !mayFollow(from, next.URL) {
		return &redirectError{to: next.URL.String()}
	}
	return nil
}

// mayFollow decides which redirections are followed: within a site, and never from an encrypted page to an open one.
func mayFollow(from, to *url.URL) bool {
	return sameSite(from, to) && (from.Scheme != "https" || to.Scheme == "https")
}

// sameSite reports that two URLs belong to one registered domain, or to one address.
func sameSite(a, b *url.URL) bool {
	x, y := strings.ToLower(a.Hostname()), strings.ToLower(b.Hostname())
	if x == y {
		return true
	}
	if _, err := netip.ParseAddr(y); err == nil {
		return false
	}
	xs, xerr := publicsuffix.EffectiveTLDPlusOne(x)
	ys, yerr := publicsuffix.EffectiveTLDPlusOne(y)
	return xerr == nil && yerr == nil && xs == ys
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("the address names no host")
	case u.User != nil:
		return errors.New("the address contains a user name or a password, which web_fetch does not send")
	}
	return nil
}
