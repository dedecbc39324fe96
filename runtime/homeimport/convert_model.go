package homeimport

import (
	"regexp"
	"slices"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
)

// providerKeys are the variables in which the Python agent keeps a provider's key.
var providerKeys = map[string][]string{
	"openai": {"OPENAI_API_KEY"}, "anthropic": {"ANTHROPIC_API_KEY"}, "openrouter": {"OPENROUTER_API_KEY"}, "custom": {"OPENAI_API_KEY"},
	"deepseek": {"DEEPSEEK_API_KEY"}, "gemini": {"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "mistral": {"MISTRAL_API_KEY"}, "xai": {"XAI_API_KEY"}, "groq": {"GROQ_API_KEY"},
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// model maps model, fallback_providers and prompt_caching.
func (c *converter) model() {
	m := &c.spec.Model
	if _, isMap := c.config["model"].(map[string]any); isMap {
		m.Name = c.takeText("model", "default")
		if other := c.takeText("model", "model"); m.Name == "" {
			m.Name = other
		}
		m.Provider = strings.ToLower(c.takeText("model", "provider"))
		m.BaseURL = c.takeText("model", "base_url")
		for _, key := range []string{"context_window", "context_length"} {
			if n, ok := c.takeInt("model", key); ok && n >= 1024 && n <= 100_000_000 && m.ContextWindow == nil {
				m.ContextWindow = &n
			}
		}
	} else {
		m.Name = c.takeText("model")
	}
	c.provider(m)
	if ttl := c.takeText("prompt_caching", "cache_ttl"); slices.Contains([]string{"5m", "1h", "auto"}, ttl) {
		m.CacheTTL = ttl
	}
	c.credential(m)
	c.fallbacks(m)
	if m.Name == "" && m.Provider != "demo" {
		c.out.note("config.yaml names no model: set spec.model.name before you apply")
	}
}

// provider fills in what the Python agent works out by itself.
func (c *converter) provider(m *v1alpha1.ModelSpec) {
	switch {
	case m.Provider == "auto" || m.Provider == "" && m.BaseURL == "":
		m.Provider = "openai"
		for _, p := range []string{"openrouter", "anthropic", "openai"} {
			if _, ok := c.env[providerKeys[p][0]]; ok {
				m.Provider = p
				break
			}
		}
		c.out.note("the provider was found by the Python agent itself: spec.model.provider is %s now, see that it is right", m.Provider)
	case m.Provider == "":
		m.Provider = "custom"
	case !providerName.MatchString(m.Provider):
		c.out.note("provider %q cannot be a provider's name: spec.model.provider is custom now", m.Provider)
		m.Provider = "custom"
	}
	if m.Provider == "custom" && m.BaseURL == "" {
		c.out.note("provider custom needs spec.model.baseURL: set it before you apply")
	}
}

// credential moves the model's key out of sight of the tools.
func (c *converter) credential(m *v1alpha1.ModelSpec) {
	if value, ok := c.take("model", "api_key"); ok {
		if text, isText := value.(string); isText && text != "" {
			if name, reference := envReference(text); reference {
				c.credentialFrom(m, name)
			} else {
				m.Credentials = append(m.Credentials, v1alpha1.ModelCredential{SecretKeyRef: c.key("MODEL_API_KEY", text)})
			}
			c.typed("model", "api_key")
			return
		}
	}
	for _, name := range providerKeys[m.Provider] {
		if c.credentialFrom(m, name) {
			return
		}
	}
}

func (c *converter) credentialFrom(m *v1alpha1.ModelSpec, name string) bool {
	value, ok := c.env[name]
	if !ok {
		return false
	}
	delete(c.env, name)
	m.Credentials = append(m.Credentials, v1alpha1.ModelCredential{SecretKeyRef: c.key(name, value)})
	return true
}

func (c *converter) fallbacks(m *v1alpha1.ModelSpec) {
	v, ok := c.take("fallback_providers")
	if !ok {
		return
	}
	list, isList := v.([]any)
	if !isList {
		c.put(v, "fallback_providers")
		return
	}
	for i, e := range list {
		entry, _ := e.(map[string]any)
		f := v1alpha1.ModelFallback{Provider: strings.ToLower(textOf(entry["provider"])), Name: textOf(entry["model"]), BaseURL: textOf(entry["base_url"])}
		if f.Provider == "" && f.BaseURL != "" {
			f.Provider = "custom"
		}
		if !providerName.MatchString(f.Provider) || f.Name == "" || f.Provider == "custom" && f.BaseURL == "" || len(m.Fallbacks) == 8 {
			c.out.note("fallback_providers entry %d is not taken over: a fallback needs a provider, a model, and a base_url for custom, and there are at most 8", i+1)
			continue
		}
		for _, name := range providerKeys[f.Provider] {
			// The key may be the model's own, which is in the keys by now.
			value, ok := c.keys[name]
			if !ok {
				if value, ok = c.env[name]; ok {
					delete(c.env, name)
				}
			}
			if ok && f.Provider != "custom" {
				f.Credentials = []v1alpha1.ModelCredential{{SecretKeyRef: c.key(name, value)}}
				break
			}
		}
		m.Fallbacks = append(m.Fallbacks, f)
	}
	c.typed("fallback_providers")
}

func (c *converter) takeInt(path ...string) (int64, bool) {
	v, ok := c.take(path...)
	if !ok {
		return 0, false
	}
	switch n := v.(type) {
	case int:
		c.typed(path...)
		return int64(n), true
	case int64:
		c.typed(path...)
		return n, true
	case uint64:
		if n < 1<<62 {
			c.typed(path...)
			return int64(n), true
		}
	}
	c.put(v, path...)
	return 0, false
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}

var wholeReference = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// envReference is the variable that a value names as a whole.
func envReference(value string) (name string, ok bool) {
	match := wholeReference.FindStringSubmatch(strings.TrimSpace(value))
	if match == nil {
		return "", false
	}
	return match[1], true
}
