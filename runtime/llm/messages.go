package llm

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	// anthropicVersion is the version of the protocol that is spoken.
	anthropicVersion = "2023-06-01"
	// defaultMaxTokens bounds an answer where the protocol demands a bound and the caller names none, in tokens.
	defaultMaxTokens = 16384
	// oauthKeyPrefix begins a token of a subscription login, which travels as a bearer token and needs its beta.
	oauthKeyPrefix = "sk-ant-oat"
	oauthBeta      = "oauth-2025-04-20"
	betaHeader     = "Anthropic-Beta"
)

// messagesDialect is DialectMessages.
type messagesDialect struct{}

var _ dialect = messagesDialect{}

// endpoint accepts a base URL with and without its version, because people paste both.
func (messagesDialect) endpoint(base *url.URL) *url.URL {
	if base.Path == "" {
		root := *base
		root.Path = "/"
		base = &root
	}
	if strings.HasSuffix(base.Path, "/v1") {
		return base.JoinPath("messages")
	}
	return base.JoinPath("v1", "messages")
}

// authorize sends the key as x-api-key. Servers that imitate Anthropic disagree about the header they read, so they
// get both; Anthropic itself refuses a request with two credentials.
func (messagesDialect) authorize(h http.Header, key string, rt Route) {
	h.Set("Anthropic-Version", anthropicVersion)
	switch {
	case key == "":
	case strings.HasPrefix(key, oauthKeyPrefix):
		h.Set("Authorization", "Bearer "+key)
		h.Add(betaHeader, oauthBeta)
	default:
		h.Set("X-Api-Key", key)
		if rt.Name != ProviderAnthropic {
			h.Set("Authorization", "Bearer "+key)
		}
	}
}

func (messagesDialect) encode(r Request, rt Route, w rewrites) ([]byte, error) {
	return encodeMessages(w.apply(r), rt, w)
}

func (messagesDialect) answer(host string) answer { return &blocks{host: host} }

// finishOf maps a stop reason of the protocol to ours; one that is not known is an end like any other.
func finishOf(stop string) string {
	switch stop {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return FinishLength
	case "tool_use":
		return FinishToolCalls
	case "refusal":
		return FinishContentFilter
	case FinishPause:
		return FinishPause
	}
	return FinishStop
}
