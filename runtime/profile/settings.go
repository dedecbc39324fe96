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
	provider, model, baseURL string
	workspace                string
	tools                    tools.Config // what the configuration says of it
	maxTurns                 int
}

// readSettings takes the settings out of a configuration. A provider that is not
// named is custom when there is a base URL, else openai. Implements the keys of
// spec §1.3 that this package uses.
func readSettings(c *home.Config, paths home.Paths) (settings, error) {
	s := settings{
		provider:  firstOf(c.String("model", "provider")),
		model:     firstOf(c.String("model", "default"), c.String("model", "model"), c.String("model")),
		baseURL:   c.String("model", "base_url"),
		workspace: firstOf(c.String("terminal", "cwd"), paths.Workspace()),
	}
	if s.provider == "" {
		s.provider = "openai"
		if s.baseURL != "" {
			s.provider = llm.ProviderCustom
		}
	}
	if !filepath.IsAbs(s.workspace) {
		s.workspace = filepath.Join(paths.Home, s.workspace)
	}
	var err error
	if s.tools, err = toolConfig(c); err != nil {
		return s, err
	}
	raw, set := c.Lookup("agent", "max_turns")
	n, err := agent.ParseMaxTurns(raw, set)
	s.maxTurns = n
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
	if s.provider != llm.ProviderDemo {
		if _, err := llm.NewRoute(s.provider, s.baseURL); err != nil {
			return err
		}
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
