package llm

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ProviderCustom is an OpenAI-compatible server of the user's own; it needs a base URL.
const ProviderCustom = "custom"

// ProviderDemo is the offline scripted model; it needs neither URL nor key.
const ProviderDemo = "demo"

// ProviderAnthropic is Anthropic itself.
const ProviderAnthropic = "anthropic"

// Provider is what is known about a model provider.
type Provider struct {
	Name string
	// BaseURL is the default endpoint, the part before /chat/completions or /v1/messages.
	BaseURL string
	// KeyOptional is true for servers that run without a key.
	KeyOptional bool
	// MaxCompletionTokens is true where the token bound is called max_completion_tokens.
	MaxCompletionTokens bool
	// NoStreamOptions is true where stream_options is refused; such servers report usage unasked.
	NoStreamOptions bool
	// ReasoningSwitch is true where {"reasoning":{"enabled":false}} asks for an answer without thinking.
	ReasoningSwitch bool
	// CacheParts is true where cache markers on text parts are passed on to models that know them.
	CacheParts bool
	// Dialect the provider speaks; empty is DialectChat.
	Dialect Dialect
}

// providers is the table of known providers; V11 aliases follow it.
var providers = []Provider{
	{Name: "openai", BaseURL: "https://api.openai.com/v1", MaxCompletionTokens: true},
	{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", ReasoningSwitch: true, CacheParts: true},
	{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", MaxCompletionTokens: true},
	{Name: "together", BaseURL: "https://api.together.xyz/v1"},
	{Name: "mistral", BaseURL: "https://api.mistral.ai/v1", NoStreamOptions: true},
	{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1"},
	{Name: "xai", BaseURL: "https://api.x.ai/v1"},
	{Name: "cerebras", BaseURL: "https://api.cerebras.ai/v1", MaxCompletionTokens: true},
	{Name: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1"},
	{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai"},
	{Name: ProviderAnthropic, BaseURL: "https://api.anthropic.com", Dialect: DialectMessages},
	{Name: "nvidia", BaseURL: "https://integrate.api.nvidia.com/v1"},
	{Name: "moonshot", BaseURL: "https://api.moonshot.ai/v1"},
	{Name: "zai", BaseURL: "https://api.z.ai/api/paas/v4"},
	{Name: "huggingface", BaseURL: "https://router.huggingface.co/v1"},
	{Name: "nous", BaseURL: "https://inference-api.nousresearch.com/v1", ReasoningSwitch: true, CacheParts: true},
	{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", KeyOptional: true},
	{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", KeyOptional: true},
	{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", KeyOptional: true},
	{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", KeyOptional: true},
	{Name: ProviderCustom, KeyOptional: true},
}

// aliases are other names people use; they resolve to the canonical one (V11).
var aliases = map[string]string{
	"togetherai": "together", "x-ai": "xai", "grok": "xai", "google": "gemini", "claude": "anthropic",
	"lm-studio": "lmstudio", "llama.cpp": "llamacpp", "hf": "huggingface", "kimi": "moonshot", "glm": "zai",
}

// ProviderNames lists the known providers, sorted, without aliases.
func ProviderNames() []string {
	out := []string{ProviderDemo}
	for _, p := range providers {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

// LookupProvider finds a provider by name or alias, without regard to case. Implements V11.
func LookupProvider(name string) (Provider, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if a, ok := aliases[name]; ok {
		name = a
	}
	for _, p := range providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Route is where requests go and how that server wants them.
type Route struct {
	Provider
	url *url.URL
}

// Host is the host the route's requests go to, with its port unless it is the scheme's own.
func (r Route) Host() string { return r.url.Host }

// NewRoute resolves a provider and an optional base URL. Its errors say what to change.
func NewRoute(provider, baseURL string) (Route, error) {
	p, ok := LookupProvider(provider)
	if !ok {
		return Route{}, fmt.Errorf("unknown provider %q: use one of %s, or %q with a base URL",
			provider, strings.Join(ProviderNames(), ", "), ProviderCustom)
	}
	if baseURL != "" {
		p.BaseURL = baseURL
	}
	if p.BaseURL == "" {
		return Route{}, fmt.Errorf("provider %q needs a base URL, such as https://models.example.com/v1", provider)
	}
	u, err := parseBaseURL(p.BaseURL)
	if err != nil {
		return Route{}, err
	}
	if p.Dialect == "" && strings.HasSuffix(strings.TrimSuffix(u.Path, "/v1"), "/anthropic") {
		p.Dialect = DialectMessages // the path under which servers offer the messages API beside their own
	}
	if p.Dialect == "" {
		p.Dialect = DialectChat
	}
	return Route{Provider: p, url: u}, nil
}

// parseBaseURL checks a base URL and drops what people paste along with it.
func parseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return nil, fmt.Errorf("the base URL is not a URL: write it like https://models.example.com/v1")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("base URL %q must begin with https:// (or http:// for a server on this machine or network)", u.Redacted())
	case u.Hostname() == "":
		return nil, fmt.Errorf("base URL %q names no host", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("base URL of host %s contains a user name or password: put the key into a Secret instead", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL of host %s must end with its path: remove what follows \"?\" or \"#\"", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, endpoint := range []string{"/chat/completions", "/v1/messages"} {
		u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, endpoint), "/")
	}
	u.RawPath = ""
	return u, nil
}

// keyMayTravel reports whether a key may be sent to u: over TLS anywhere, in the clear only to this machine or to a
// host that is private by its address or its name.
func keyMayTravel(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	if host == "localhost" || !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc", ".cluster.local"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// isLoopback reports whether a host:port is this machine.
func isLoopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}
