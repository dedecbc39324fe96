package homeimport

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/tools"
)

// tools maps toolsets, plugins and skills. A toolset that this program does not have would keep the profile from
// answering, so it is left out and named.
func (c *converter) tools() {
	known := func(names []string, key string) []string {
		var out []string
		for _, name := range names {
			if tools.CheckSelection(tools.Config{Toolsets: []string{name}}) == nil {
				out = append(out, name)
			} else {
				c.out.note("toolset %q of %s is not taken over: this version does not have it", name, key)
			}
		}
		return out
	}
	c.spec.Toolsets = known(c.takeTexts("toolsets"), "toolsets")
	c.spec.DisabledToolsets = known(append(c.takeTexts("disabled_toolsets"), c.takeTexts("agent", "disabled_toolsets")...), "disabled_toolsets")
	c.spec.Plugins = c.takeTexts("plugins", "enabled")
	c.spec.Skills = c.takeTexts("skills", "enabled")
}

// behaviour maps cron, approvals, peers and the workspace.
func (c *converter) behaviour() {
	cron := v1alpha1.CronSpec{Timezone: c.takeText("timezone")}
	if cron.Timezone != "" {
		if _, err := time.LoadLocation(cron.Timezone); err != nil {
			c.out.note("timezone %q is not taken over: there is no such IANA zone", cron.Timezone)
			cron.Timezone = ""
		}
	}
	if n, ok := c.takeInt("cron", "max_parallel_jobs"); ok {
		n32 := int32(min(max(n, 0), 1000)) // in range
		cron.MaxParallelJobs = &n32
	}
	if v, ok := c.take("cron", "catch_up_missed"); ok {
		if b, isBool := v.(bool); isBool {
			cron.CatchUpMissed = &b
			c.typed("cron", "catch_up_missed")
		} else {
			c.put(v, "cron", "catch_up_missed")
		}
	}
	if cron != (v1alpha1.CronSpec{}) {
		c.spec.Cron = &cron
	}
	c.approvals()
	if allow := c.takeTexts("peers", "allow"); len(allow) > 0 {
		c.spec.Peers = &v1alpha1.PeersSpec{Allow: allow}
	}
	if cwd, ok := c.config["terminal"].(map[string]any); ok {
		if dir := textOf(cwd["cwd"]); filepath.IsAbs(dir) && filepath.Clean(dir) == dir {
			c.takeText("terminal", "cwd")
			c.spec.Workspace = &v1alpha1.WorkspaceSpec{Directory: dir}
			c.out.note("spec.workspace.directory is %s, as in the old home: the directory itself is not copied", dir)
		}
	}
}

// approvals: a mode that is not known asks, the safe middle.
func (c *converter) approvals() {
	mode := c.takeText("approvals", "mode")
	switch strings.ToLower(mode) {
	case "":
	case "off", "yolo", "allow", "never":
		c.spec.Approvals.Mode = v1alpha1.ApprovalAllow
	case "deny":
		c.spec.Approvals.Mode = v1alpha1.ApprovalDeny
	case "ask", "manual", "on":
		c.spec.Approvals.Mode = v1alpha1.ApprovalAsk
	default:
		c.spec.Approvals.Mode = v1alpha1.ApprovalAsk
		c.out.note("approvals.mode %q became Ask: every action is asked about", mode)
	}
	for _, rule := range c.takeTexts("approvals", "allow") {
		if err := tools.CheckSelection(tools.Config{Allow: []string{rule}}); err != nil {
			c.out.note("approvals.allow entry %q is not taken over: %v", rule, err)
			continue
		}
		c.spec.Approvals.Allow = append(c.spec.Approvals.Allow, rule)
	}
}

// mcp maps mcp_servers. Literal values of env and headers may be secrets: they go into the Secret of keys.
func (c *converter) mcp() {
	v, ok := c.take("mcp_servers")
	if !ok {
		return
	}
	servers, isMap := v.(map[string]any)
	if !isMap {
		c.put(v, "mcp_servers")
		return
	}
	c.typed("mcp_servers")
	for _, name := range sortedKeys(servers) {
		entry, _ := servers[name].(map[string]any)
		s := v1alpha1.MCPServerSpec{Command: textOf(entry["command"]), URL: textOf(entry["url"]), Args: texts(entry["args"])}
		if (s.Command == "") == (s.URL == "") {
			c.out.note("mcp_servers.%s is not taken over: it needs a command or a url, and not both", name)
			continue
		}
		if enabled, isBool := entry["enabled"].(bool); isBool && !enabled {
			s.Disabled = true
		}
		if n, ok := number(entry["timeout"]); ok && n >= 1 {
			s.Timeout = &metav1.Duration{Duration: time.Duration(n * float64(time.Second))}
		}
		if filter, ok := entry["tools"].(map[string]any); ok {
			s.Tools = &v1alpha1.ToolFilter{Include: texts(filter["include"]), Exclude: texts(filter["exclude"])}
		}
		env, _ := entry["env"].(map[string]any)
		for _, key := range sortedKeys(env) {
			s.Env = append(s.Env, v1alpha1.EnvVar{Name: key, ValueFrom: c.mcpValue(name, key, env[key])})
		}
		headers, _ := entry["headers"].(map[string]any)
		for _, key := range sortedKeys(headers) {
			s.Headers = append(s.Headers, v1alpha1.HeaderSpec{Name: key, ValueFrom: c.mcpValue(name, key, headers[key])})
		}
		for _, key := range sortedKeys(entry) {
			switch key {
			case "command", "url", "args", "enabled", "timeout", "tools", "env", "headers":
			default:
				c.out.note("mcp_servers.%s.%s is not taken over: there is no field for it", name, key)
			}
		}
		if c.spec.MCPServers == nil {
			c.spec.MCPServers = map[string]v1alpha1.MCPServerSpec{}
		}
		c.spec.MCPServers[name] = s
	}
}

// mcpValue refers to a variable of .env where the value names one, else to a key of its own.
func (c *converter) mcpValue(server, key string, value any) *v1alpha1.ValueSource {
	text := fmt.Sprint(value)
	if name, ok := envReference(text); ok {
		if found, ok := c.env[name]; ok {
			ref := c.key(name, found) // it stays a variable of the tools, too, as it was
			return &v1alpha1.ValueSource{SecretKeyRef: &ref}
		}
	}
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, "MCP_"+server+"_"+key)
	ref := c.key(strings.ToUpper(word), text)
	if !strings.Contains(text, "${") {
		c.out.note("mcp_servers.%s: the value of %s is in the file, so it is key %s of Secret %s now: it may be a secret", server, key, ref.Key, ref.Name)
	} else {
		c.out.note("mcp_servers.%s: the value of %s names variables that .env does not have, or more than one: key %s of Secret %s has it as it was written, fill it in", server, key, ref.Key, ref.Name)
	}
	return &v1alpha1.ValueSource{SecretKeyRef: &ref}
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
