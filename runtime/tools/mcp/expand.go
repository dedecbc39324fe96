package mcp

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand puts the profile's own values in place of ${NAME} and ${env:NAME}; a name that is not declared keeps the
// literal. There is no other source behind it: not the environment of this process and not another profile. Values are
// not expanded again.
//
// Implements T17.
func (s Server) Expand(lookup func(name string) (string, bool)) Server {
	secrets := map[string]bool{}
	expand := func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(ref string) string {
			value, ok := lookup(reference.FindStringSubmatch(ref)[1])
			if !ok {
				return ref
			}
			secrets[value] = true
			return value
		})
	}
	each := func(m map[string]string) map[string]string {
		if m == nil {
			return nil
		}
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k] = expand(v)
			secrets[out[k]] = true
		}
		return out
	}
	s.Command, s.URL = expand(s.Command), expand(s.URL)
	s.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		s.Args[i] = expand(arg)
	}
	s.Env, s.Headers = each(s.Env), each(s.Headers)
	s.CA, s.ClientCert, s.ClientKey = expand(s.CA), expand(s.ClientCert), expand(s.ClientKey)
	if u, err := url.Parse(s.URL); err == nil {
		secrets[u.RawQuery] = true
		if password, ok := u.User.Password(); ok {
			secrets[password] = true
		}
		for _, values := range u.Query() {
			for _, v := range values {
				secrets[v] = true
			}
		}
	}
	s.secrets = nil
	for value := range secrets {
		if len(value) >= minSecret {
			s.secrets = append(s.secrets, value)
		}
	}
	// The longest first, so that no part of one is left when it contains another.
	slices.SortFunc(s.secrets, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if s.URL != "" && s.Invalid == "" {
		if err := s.checkURL(); err != nil {
			s.Invalid = "mcp_servers." + s.Name + ": " + err.Error()
		}
	}
	return s
}

// minSecret keeps values like "1" and "true" from making every message unreadable.
const minSecret = 6

// hide takes declared values out of a text for people.
func (s *Server) hide(text string) string {
	for _, value := range s.secrets {
		text = strings.ReplaceAll(text, value, "***")
	}
	return text
}
