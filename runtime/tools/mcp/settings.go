package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Defaults and bounds of a server's settings (T15).
const (
	defaultTimeout        = 300 * time.Second
	defaultConnectTimeout = 60 * time.Second
	defaultKeepalive      = 180 * time.Second
	minKeepalive          = 5 * time.Second
)

// Protocol says how a connection begins.
type Protocol string

// The ways to begin.
const (
	// ProtocolAuto tries the stateless protocol and falls back to the handshake.
	ProtocolAuto      Protocol = "auto"
	ProtocolStateless Protocol = "stateless"
	ProtocolLegacy    Protocol = "legacy"
)

// Server is the declaration of one server. Values are as written until Expand.
type Server struct {
	Name string
	// Command, Args and Env make a local server.
	Command string
	Args    []string
	Env     map[string]string
	// URL, Headers and what follows make a remote one.
	URL     string
	Headers map[string]string
	// SSE selects the transport of protocol version 2024-11-05.
	SSE bool
	// SkipVerify accepts any certificate; CA is a file of certificates to accept.
	SkipVerify            bool
	CA                    string
	ClientCert, ClientKey string

	Disabled bool
	// Timeout bounds one call, ConnectTimeout everything until the tools are known.
	Timeout, ConnectTimeout time.Duration
	Protocol                Protocol
	// Parallel says that the server takes a call while another one runs.
	Parallel  bool
	Keepalive time.Duration
	// Include and Exclude select tools by exact names or globs; Include beats Exclude (T16).
	Include, Exclude []string
	// Resources and Prompts offer tools to read them, if the server has any.
	Resources, Prompts bool
	// Untrusted servers are asked about before every call that does not say that it only reads (T18).
	Untrusted bool
	// IdleTimeout ends a local server that nobody uses until somebody does; MaxLifetime starts it anew. 0 means never.
	IdleTimeout, MaxLifetime time.Duration

	// Invalid says what is wrong with the declaration; such a server is never started.
	Invalid string
	// secrets are the values that must not be shown.
	secrets []string
}

// Parse reads one entry of mcp_servers. It is lenient where a declaration made for another client says the same thing
// in another way, and leaves unknown keys alone; what cannot be meant is in Invalid, so that one bad entry costs one
// server.
//
// Implements T15.
func Parse(name string, raw any) Server {
	s := Server{Name: name, Timeout: defaultTimeout, ConnectTimeout: defaultConnectTimeout, Keepalive: defaultKeepalive,
		Protocol: ProtocolAuto, Resources: true, Prompts: true}
	m, ok := raw.(map[string]any)
	if !ok {
		s.Invalid = fmt.Sprintf("mcp_servers.%s must be an object with a command or an url", name)
		return s
	}
	f := &fields{m: m}
	s.read(f)
	err := errors.Join(f.errs...)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		s.Invalid = strings.ReplaceAll(fmt.Sprintf("mcp_servers.%s: %v", name, err), "\n", "; ")
	}
	return s
}

func (s *Server) read(f *fields) {
	s.Command, s.Args, s.Env = f.text("command"), f.list("args"), f.texts("env")
	s.URL, s.Headers = f.text("url"), f.texts("headers")
	s.Disabled = f.flag("disabled", false) || !f.flag("enabled", true)
	s.Timeout = f.duration("timeout", s.Timeout)
	s.ConnectTimeout = f.duration("connect_timeout", s.ConnectTimeout)
	s.Keepalive = max(f.duration("keepalive_interval", s.Keepalive), minKeepalive)
	s.IdleTimeout = f.duration("idle_timeout_seconds", 0)
	s.MaxLifetime = f.duration("max_lifetime_seconds", 0)
	s.Parallel = f.flag("supports_parallel_tool_calls", false)
	if t := f.text("trust"); t != "" && t != "full" {
		s.Untrusted = true // an unknown value is the careful one (T18)
	}
	if p := f.text("protocol"); p != "" {
		s.Protocol = Protocol(p)
	}
	for _, key := range []string{"transport", "type"} {
		switch t := f.text(key); t {
		case "", "stdio", "http", "streamable-http", "streamable_http", "streamableHttp":
		case "sse":
			s.SSE = true
		default:
			f.fail("%s is %q and must be stdio, http or sse", key, t)
		}
	}
	if a := f.text("auth"); a != "" && a != "none" {
		f.fail("auth %s is not there in this version: put a token into headers", a)
	}
	s.readTLS(f)
	tools := f.object("tools")
	s.Include, s.Exclude = tools.list("include"), tools.list("exclude")
	s.Resources, s.Prompts = tools.flag("resources", true), tools.flag("prompts", true)
	f.errs = append(f.errs, tools.errs...)
}

func (s *Server) readTLS(f *fields) {
	switch v := f.m["ssl_verify"].(type) {
	case nil:
	case bool:
		s.SkipVerify = !v
	case string:
		s.CA = v
	default:
		f.fail("ssl_verify must be true, false or a file of certificates")
	}
	if pair, ok := f.m["client_cert"].([]any); ok {
		both := f.list("client_cert")
		if len(both) != 2 {
			f.fail("client_cert has %d entries and must be a file, or a certificate and its key", len(pair))
			return
		}
		s.ClientCert, s.ClientKey = both[0], both[1]
		return
	}
	s.ClientCert, s.ClientKey = f.text("client_cert"), f.text("client_key")
}

// check finds what does not fit together.
func (s *Server) check() error {
	switch {
	case (s.Command == "") == (s.URL == ""):
		return errors.New("set exactly one of command (a local server) and url (a remote one)")
	case s.Protocol != ProtocolAuto && s.Protocol != ProtocolStateless && s.Protocol != ProtocolLegacy:
		return fmt.Errorf("protocol is %q and must be auto, stateless or legacy", s.Protocol)
	case s.ClientKey != "" && s.ClientCert == "":
		return errors.New("client_key needs a client_cert")
	}
	for _, pattern := range append(append([]string{}, s.Include...), s.Exclude...) {
		if !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("tools: %q is no valid pattern", pattern)
		}
	}
	return nil
}

// checkURL is done after expansion: the whole URL may be a reference.
func (s *Server) checkURL() error {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("url must be an http or https URL")
	}
	return nil
}

// path makes a path of the declaration absolute; a relative one is below the home.
func within(home, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(home, path)
}

// fields reads the keys of one object and collects what is wrong.
type fields struct {
	m    map[string]any
	errs []error
}

func (f *fields) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// scalar is a value that can stand for a text: YAML makes numbers and booleans of what people mean as one.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int, int64, uint64:
		return fmt.Sprint(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func (f *fields) text(key string) string {
	v := f.m[key]
	if v == nil {
		return ""
	}
	s, ok := scalar(v)
	if !ok {
		f.fail("%s must be a text", key)
	}
	return s
}

func (f *fields) flag(key string, otherwise bool) bool {
	switch v := f.m[key].(type) {
	case nil:
		return otherwise
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	f.fail("%s must be true or false", key)
	return otherwise
}

// duration takes seconds, or a text such as 30s.
func (f *fields) duration(key string, otherwise time.Duration) time.Duration {
	v := f.m[key]
	if v == nil {
		return otherwise
	}
	text, _ := scalar(v)
	d, err := time.ParseDuration(text)
	if seconds, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > 365*24*time.Hour {
		f.fail("%s must be a number of seconds", key)
		return otherwise
	}
	if d == 0 {
		return otherwise
	}
	return d
}

func (f *fields) list(key string) []string {
	v := f.m[key]
	if v == nil {
		return nil
	}
	if one, ok := scalar(v); ok {
		return []string{one}
	}
	list, ok := v.([]any)
	var out []string
	for _, e := range list {
		s, isText := scalar(e)
		ok = ok && isText
		out = append(out, s)
	}
	if !ok {
		f.fail("%s must be a list of texts", key)
	}
	return out
}

func (f *fields) texts(key string) map[string]string {
	v := f.m[key]
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	out := make(map[string]string, len(m))
	for k, e := range m {
		if e == nil {
			continue
		}
		s, isText := scalar(e)
		ok = ok && isText
		out[k] = s
	}
	if !ok {
		f.fail("%s must be an object of texts", key)
	}
	return out
}

func (f *fields) object(key string) *fields {
	v := f.m[key]
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		f.fail("%s must be an object", key)
	}
	return &fields{m: m}
}
