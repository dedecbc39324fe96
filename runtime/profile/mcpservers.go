package profile

import (
	"maps"
	"slices"
	"strings"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/runtime/tools/mcp"
)

// newServers makes the profile's MCP servers, of which there are none until Connect.
func newServers(o Options) *mcp.Servers {
	return mcp.New(mcp.Options{
		Home: o.Paths.Home, RunID: o.RunID, Orphans: o.Orphans, Starts: o.ServerStarts, Changed: o.Changed, Clock: o.Clock, Log: o.Log,
	})
}

// mcpServers reads mcp_servers. A mistake in an entry is that server's.
func mcpServers(c *home.Config) []mcp.Server {
	raw, _ := c.Lookup("mcp_servers")
	entries, _ := raw.(map[string]any)
	out := make([]mcp.Server, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, mcp.Parse(name, entries[name]))
	}
	return out
}

func serverNames(c *home.Config) []string {
	var out []string
	for _, s := range mcpServers(c) {
		out = append(out, s.Name)
	}
	return out
}

// Connect makes the MCP servers be those of the configuration and the secrets on disk. It waits for none of them.
// A configuration that cannot be used changes nothing: no turn runs on it either. Call it whenever the home may have
// changed; Reload and every turn do.
func (r *Runtime) Connect() {
	r.connecting.Lock() // so that what is read last holds
	defer r.connecting.Unlock()
	config, err := r.config.Read()
	if err != nil {
		return
	}
	want := mcpServers(config)
	if len(want) == 0 {
		r.servers.Sync(nil, "", nil)
		return
	}
	s, err := readSettings(config, r.o.Paths)
	if err == nil {
		_, err = r.env.Environment() // else every value would look as if it had been taken back
	}
	if err != nil {
		return
	}
	for i := range want {
		want[i] = want[i].Expand(func(name string) (string, bool) {
			value, err := r.env.Lookup(name)
			return value, err == nil
		})
	}
	r.servers.Sync(want, s.workspace, func(server mcp.Server) string {
		_, why, err := tools.ServerSelected(s.tools, server.Name, mcp.ToolPrefix(server.Name))
		if err != nil {
			return "the toolsets of the profile cannot be used"
		}
		return why
	})
}

// serverMessage names the MCP servers that are not connected. It holds no time and no attempt, so that a server that is
// tried again and again writes no status.
func (r *Runtime) serverMessage() string {
	names := r.servers.Troubled()
	if len(names) == 0 {
		return ""
	}
	return "; MCP servers not connected: " + strings.Join(names, ", ") + " (hermes tools list -p " + r.Name() + " says why)"
}

// unservedServers lists the declared servers of a home that nothing serves.
func unservedServers(c *home.Config) []tools.ServerInfo {
	var out []tools.ServerInfo
	for _, s := range mcpServers(c) {
		info := tools.ServerInfo{Name: s.Name, State: "unserved", Why: "nothing serves the profile"}
		switch {
		case s.Invalid != "":
			info.State, info.Why = string(mcp.PhaseInvalid), s.Invalid
		case s.Disabled:
			info.State, info.Why = string(mcp.PhaseOff), "disabled in its declaration"
		}
		out = append(out, info)
	}
	return out
}
