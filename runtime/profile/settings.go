package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
)

// settings is what a profile's config.yaml says, as far as the runtime uses it.
type settings struct {
	modelRoute
	fallbacks  []modelRoute
	cacheTTL   llm.CacheTTL
	workspace  string
	tools      tools.Config // what the configuration says of it
	maxTurns   int
	compaction compactionSettings
	delegation delegationSettings
	titles     bool // the model names sessions
	// agentSchedules lets the agent change scheduled jobs (cron.allow_agent_scheduling).
	agentSchedules bool
}

// readSettings takes the settings out of a configuration. Implements the keys of
// spec §1.3 that this package uses.
func readSettings(c *home.Config, paths home.Paths) (settings, error) {
	s := settings{
		modelRoute: readPrimary(c),
		workspace:  firstOf(c.String("terminal", "cwd"), paths.Workspace()),
	}
	if !filepath.IsAbs(s.workspace) {
		s.workspace = filepath.Join(paths.Home, s.workspace)
	}
	s.agentSchedules = c.Bool("cron", "allow_agent_scheduling")
	s.titles = s.provider != llm.ProviderDemo && !c.IsFalse("auxiliary", "title_generation", "enabled")
	var err error
	if s.tools, err = toolConfig(c); err != nil {
		return s, err
	}
	raw, set := c.Lookup("agent", "max_turns")
	n, err := agent.ParseMaxTurns(raw, set)
	if err != nil {
		return s, err
	}
	s.maxTurns = n
	if s.delegation, err = readDelegation(c); err != nil {
		return s, err
	}
	ttl, set := c.Lookup("prompt_caching", "cache_ttl")
	s.cacheTTL = llm.ParseCacheTTL(ttl, set)
	s.fallbacks, err = readFallbacks(c)
	if err == nil {
		s.compaction, err = readCompaction(c)
		s.window = s.compaction.window
	}
	return s, err
}

// check says why no engine can be built from the settings, as far as that shows without building one. A workspace in
// the home is made when it is needed; any other one has to be there.
func (s settings) check(paths home.Paths) error {
	if rel, err := filepath.Rel(paths.Home, s.workspace); err != nil || !filepath.IsLocal(rel) {
		if info, err := os.Stat(s.workspace); err != nil {
			return fmt.Errorf("workspace: %w: create the directory, or name another one", err)
		} else if !info.IsDir() {
			return fmt.Errorf("workspace: %s is not a directory: name another one", s.workspace)
		}
	}
	if err := s.checkRoutes(); err != nil {
		return err
	}
	return tools.CheckSelection(s.tools)
}

// approvalMode reads approvals.mode; anything that is not a known word asks, the safe middle.
func approvalMode(s string) tools.Mode {
	switch strings.ToLower(s) {
	case "allow":
		return tools.ModeAllow
	case "deny":
		return tools.ModeDeny
	default:
		return tools.ModeAsk
	}
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
