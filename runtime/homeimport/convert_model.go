package homeimport

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/llm"
)

// providerKeys are the variables in which the Python agent keeps a provider's key.
var providerKeys = map[string][]string{
	"openai": {"OPENAI_API_KEY"}, "anthropic": {"ANTHROPIC_API_KEY"}, "openrouter": {"OPENROUTER_API_KEY"}, "custom": {"OPENAI_API_KEY"},
	"deepseek": {"DEEPSEEK_API_KEY"}, "gemini": {"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "mistral": {"MISTRAL_API_KEY"}, "xai": {"XAI_API_KEY"}, "groq": {"GROQ_API_KEY"},
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// model maps model, fallback_providers, fallback_model and prompt_caching.
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

// fallbacks maps fallback_providers, and fallback_model of older homes behind it. What cannot be a fallback is named.
func (c *converter) fallbacks(m *v1alpha1.ModelSpec) {
	for _, key := range []string{"fallback_providers", "fallback_model"} {
		v, ok := c.take(key)
		if !ok {
			continue
		}
		list, isList := v.([]any)
		if _, one := v.(map[string]any); one {
			list, isList = []any{v}, true
		}
		if !isList {
			c.put(v, key)
			continue
		}
		for i, e := range list {
			entry, _ := e.(map[string]any)
			c.fallback(m, fmt.Sprintf("%s entry %d", key, i+1), entry)
		}
		c.typed(key)
	}
}

func (c *converter) fallback(m *v1alpha1.ModelSpec, what string, entry map[string]any) {
	f := v1alpha1.ModelFallback{Provider: strings.ToLower(textOf(entry["provider"])), Name: textOf(entry["model"]), BaseURL: textOf(entry["base_url"])}
	if f.Provider == "" && f.BaseURL != "" {
		f.Provider = "custom"
	}
	if slices.ContainsFunc(m.Fallbacks, func(o v1alpha1.ModelFallback) bool {
		return o.Provider == f.Provider && o.Name == f.Name && o.BaseURL == f.BaseURL
	}) {
		return // an old key that repeats the list
	}
	if !providerName.MatchString(f.Provider) || f.Name == "" || f.Provider == "custom" && f.BaseURL == "" || len(m.Fallbacks) == 8 {
		c.out.note("%s is not taken over: a fallback needs a provider, a model, and a base_url for custom, and there are at most 8", what)
		return
	}
	f.Credentials = c.fallbackKey(m, f, textOf(entry["api_key"]), len(m.Fallbacks)+1)
	if p, known := llm.LookupProvider(f.Provider); known && !p.KeyOptional && len(f.Credentials) == 0 {
		c.out.note("%s (%s %s) has no API key in the old home and cannot answer without one: put it into a Secret and name that in spec.model.fallbacks[%d].credentials", what, f.Provider, f.Name, len(m.Fallbacks))
	}
	m.Fallbacks = append(m.Fallbacks, f)
}

// fallbackKey is the key of a fallback: its own, its provider's of .env, or the model's where both have one server.
func (c *converter) fallbackKey(m *v1alpha1.ModelSpec, f v1alpha1.ModelFallback, own string, number int) []v1alpha1.ModelCredential {
	names := providerKeys[f.Provider]
	if name, reference := envReference(own); reference {
		names = []string{name}
	} else if own != "" {
		return []v1alpha1.ModelCredential{{SecretKeyRef: c.key(fmt.Sprintf("FALLBACK_%d_API_KEY", number), own)}}
	}
	if f.Provider == "custom" && own == "" {
		names = nil // OPENAI_API_KEY is not for whatever server this is
	}
	for _, name := range names {
		// The key may be the model's own, which is in the keys by now.
		value, ok := c.keys[name]
		if !ok {
			if value, ok = c.env[name]; ok {
				delete(c.env, name)
			}
		}
		if ok {
			return []v1alpha1.ModelCredential{{SecretKeyRef: c.key(name, value)}}
		}
	}
	if f.Provider == m.Provider && f.BaseURL == m.BaseURL {
		return slices.Clone(m.Credentials)
	}
	return nil
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
