package llm

import "strings"

// CacheTTL is how long a server shall keep the prefix of a prompt.
type CacheTTL string

// The tiers. The zero value is Cache5m: what is not told otherwise, auxiliary calls above all, pays the cheaper write.
const (
	Cache5m CacheTTL = "5m"
	Cache1h CacheTTL = "1h"
	// CacheAuto is resolved once per session, by ForSession.
	CacheAuto CacheTTL = "auto"
	// CacheOff sends no markers at all.
	CacheOff CacheTTL = "off"
)

// ParseCacheTTL reads prompt_caching.cache_ttl; set is whether the key is there. What is not understood is ignored.
// Implements S-420.
func ParseCacheTTL(v any, set bool) CacheTTL {
	if !set {
		return Cache5m
	}
	switch v := v.(type) {
	case nil:
		return CacheOff
	case bool:
		if !v {
			return CacheOff
		}
	case string:
		switch s := strings.ToLower(strings.TrimSpace(v)); s {
		case "1h", "auto":
			return CacheTTL(s)
		case "false", "null", "off", "disabled", "no", "none":
			return CacheOff
		}
	}
	return Cache5m
}

// ForSession resolves auto by what paces the session: machines come back at once or never, people after a pause. Call
// it with the source the session was made with, so that the tier does not change in the middle. Implements S-421 and
// L13.
func (c CacheTTL) ForSession(source string) CacheTTL {
	if c != CacheAuto {
		return c
	}
	switch strings.ToLower(strings.TrimSpace(source)) {
	case "subagent", "cron", "oneshot", "webhook", "kanban", "api", "tool", "batch":
		return Cache5m
	}
	return Cache1h
}

// forRoute clamps a resolved tier to what the route is measured to support. Implements S-422 and L14.
func (c CacheTTL) forRoute(provider, model string) CacheTTL {
	last := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	switch {
	case c == CacheOff:
		return CacheOff
	case c != Cache1h:
		return Cache5m
	case provider == "opencode-go" && last != "minimax-m2.5":
		return Cache1h
	case strings.HasPrefix(last, "qwen"):
		return Cache5m
	}
	switch provider {
	case "opencode", "opencode-go", "opencode-zen", "alibaba":
		return Cache5m
	}
	return Cache1h
}
