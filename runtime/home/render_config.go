package home

import (
	"fmt"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
)

// config maps the typed fields to the keys of config.yaml (spec section 1.3) and lays spec.config over them.
func (r *renderer) config() error {
	c := typedConfig{keys: map[string]any{}, fields: map[string]string{}}
	r.modelConfig(&c)
	r.toolConfig(&c)
	if err := r.behaviourConfig(&c); err != nil {
		return err
	}
	if err := r.mcpConfig(&c); err != nil {
		return err
	}
	if err := c.overlay(r.spec.Config); err != nil {
		return err
	}
	// terminal.cwd is the one key that spec.config may set against its typed field (N-21, NA-17).
	if w := r.spec.Workspace; w != nil && w.Directory != "" {
		if _, explicit := lookup(c.keys, "terminal", "cwd"); !explicit {
			terminal, ok := c.keys["terminal"].(map[string]any)
			if !ok {
				if c.keys["terminal"] != nil {
					return &ErrConfigInvalid{Key: "terminal", Problem: "it holds terminal.cwd and so has to be an object: change it in spec.config"}
				}
				terminal = map[string]any{}
				c.keys["terminal"] = terminal
			}
			terminal["cwd"] = w.Directory
		}
	}
	r.b.Config = c.keys
	return nil
}

func (r *renderer) modelConfig(c *typedConfig) {
	m := &r.spec.Model
	c.setText("spec.model.name", m.Name, "model", "default")
	c.setText("spec.model.provider", m.Provider, "model", "provider")
	c.setText("spec.model.baseURL", m.BaseURL, "model", "base_url")
	if m.ContextWindow != nil {
		c.set("spec.model.contextWindow", *m.ContextWindow, "model", "context_window")
	}
	c.setText("spec.model.cacheTTL", m.CacheTTL, "prompt_caching", "cache_ttl")
	if len(m.Fallbacks) == 0 {
		return
	}
	list := make([]any, 0, len(m.Fallbacks))
	for _, f := range m.Fallbacks {
		entry := map[string]any{"provider": f.Provider, "model": f.Name}
		if f.BaseURL != "" {
			entry["base_url"] = f.BaseURL
		}
		list = append(list, entry)
	}
	c.set("spec.model.fallbacks", list, "fallback_providers")
}

func (r *renderer) toolConfig(c *typedConfig) {
	s := r.spec
	c.setList("spec.toolsets", s.Toolsets, "toolsets")
	c.setList("spec.disabledToolsets", s.DisabledToolsets, "disabled_toolsets")
	c.setList("spec.plugins", s.Plugins, "plugins", "enabled")
	c.setList("spec.skills", s.Skills, "skills", "enabled")
}

func (r *renderer) behaviourConfig(c *typedConfig) error {
	s := r.spec
	if s.Cron != nil {
		c.setText("spec.cron.timezone", s.Cron.Timezone, "timezone")
		if s.Cron.MaxParallelJobs != nil {
			c.set("spec.cron.maxParallelJobs", int64(*s.Cron.MaxParallelJobs), "cron", "max_parallel_jobs")
		}
		if s.Cron.CatchUpMissed != nil {
			c.set("spec.cron.catchUpMissed", *s.Cron.CatchUpMissed, "cron", "catch_up_missed")
		}
	}
	if err := r.backupConfig(c); err != nil {
		return err
	}
	c.setText("spec.approvals.mode", strings.ToLower(string(s.Approvals.Mode)), "approvals", "mode")
	c.setList("spec.approvals.allow", s.Approvals.Allow, "approvals", "allow")
	if s.Peers != nil {
		c.setList("spec.peers.allow", s.Peers.Allow, "peers", "allow")
	}
	return nil
}

// mcpConfig renders spec.mcpServers with the keys of N-5. Values by reference go to .env and are named here as
// ${VAR}; one whose value is missing is left out of both.
func (r *renderer) mcpConfig(c *typedConfig) error {
	used := map[string]bool{}
	for _, name := range sortedKeys(r.spec.MCPServers) {
		server := r.spec.MCPServers[name]
		entry, err := r.mcpServer(name, &server, used)
		if err != nil {
			return err
		}
		c.set(mcpField(name), entry, "mcp_servers", name)
	}
	return nil
}

func (r *renderer) mcpServer(name string, s *v1alpha1.MCPServerSpec, used map[string]bool) (map[string]any, error) {
	entry := map[string]any{"enabled": !s.Disabled}
	putText(entry, "command", s.Command)
	putList(entry, "args", s.Args)
	putText(entry, "url", s.URL)
	if s.Timeout != nil {
		entry["timeout"] = int64(s.Timeout.Seconds())
	}
	if s.Tools != nil {
		tools := map[string]any{}
		putList(tools, "include", s.Tools.Include)
		putList(tools, "exclude", s.Tools.Exclude)
		putMap(entry, "tools", tools)
	}
	env, headers := map[string]any{}, map[string]any{}
	for _, e := range s.Env {
		if err := r.mcpValue(env, e, name, mcpField(name)+".env", used); err != nil {
			return nil, err
		}
	}
	for _, h := range s.Headers {
		v := v1alpha1.EnvVar{Name: h.Name, Value: h.Value, ValueFrom: h.ValueFrom}
		if err := r.mcpValue(headers, v, name, mcpField(name)+".headers", used); err != nil {
			return nil, err
		}
	}
	putMap(entry, "env", env)
	putMap(entry, "headers", headers)
	return entry, nil
}

func (r *renderer) mcpValue(into map[string]any, e v1alpha1.EnvVar, server, field string, used map[string]bool) error {
	value, ok := r.envValue(e, field)
	if !ok {
		return nil
	}
	if e.ValueFrom == nil {
		into[e.Name] = value
		return nil
	}
	value = strings.TrimRight(value, "\r\n")
	variable := unique(used, "HERMES_MCP_"+envWord(server)+"_"+envWord(e.Name))
	if err := checkEnv(variable, value); err != nil {
		return &ErrConfigInvalid{Key: envField(field, e.Name), Problem: "the value is not text: put plain text into the object"}
	}
	r.setEnv(variable, value)
	into[e.Name] = "${" + variable + "}"
	return nil
}

// unique gives two names that fold to one word (a-b and a_b) different variables.
func unique(used map[string]bool, name string) string {
	candidate := name
	for i := 2; used[candidate]; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	used[candidate] = true
	return candidate
}

// envWord is s in upper case with everything but letters and digits as '_'.
func envWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, s)
}

func putText(m map[string]any, key, value string) {
	if value != "" {
		m[key] = value
	}
}

func putList(m map[string]any, key string, values []string) {
	if len(values) > 0 {
		m[key] = anyList(values)
	}
}

func putMap(m map[string]any, key string, value map[string]any) {
	if len(value) > 0 {
		m[key] = value
	}
}

func anyList(values []string) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}
