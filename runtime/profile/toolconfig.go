package profile

import (
	"fmt"
	"reflect"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/tools"
)

// toolConfig reads what config.yaml says about tools: which are on, who is asked, and what they may reach.
func toolConfig(c *home.Config) (tools.Config, error) {
	t := tools.Config{
		Toolsets:         c.Strings("toolsets"),
		DisabledToolsets: c.Strings("disabled_toolsets"),
		Mode:             approvalMode(c.String("approvals", "mode")),
		Allow:            c.Strings("approvals", "allow"),
		Servers:          serverNames(c),
		Skills:           tools.SkillConfig{Enabled: c.Strings("skills", "enabled")},
		Web:              tools.WebConfig{AllowPrivate: c.Strings("web", "allow_private")},
	}
	for _, limit := range []struct {
		key  string
		into *int
	}{{"memory_char_limit", &t.MemoryLimit}, {"user_char_limit", &t.UserLimit}} {
		if n, ok := c.Int("memory", limit.key); ok {
			if n < 1 || n > 100_000 {
				return t, fmt.Errorf("memory.%s is %d and must be between 1 and 100000", limit.key, n)
			}
			*limit.into = int(n)
		}
	}
	var custom map[string]struct {
		Description string   `yaml:"description"`
		Tools       []string `yaml:"tools"`
		Includes    []string `yaml:"includes"`
	}
	if err := c.Decode(&custom, "custom_toolsets"); err != nil {
		return t, fmt.Errorf("custom_toolsets: %w", err)
	}
	for name, set := range custom {
		if t.CustomToolsets == nil {
			t.CustomToolsets = map[string]tools.CustomToolset{}
		}
		t.CustomToolsets[name] = tools.CustomToolset{Description: set.Description, Tools: set.Tools, Includes: set.Includes}
	}
	return t, nil
}

// sameTools reports whether two settings give the same tool set, so that what a
// person allowed for a session outlives an unrelated edit of the configuration.
func (s settings) sameTools(o settings) bool {
	return s.workspace == o.workspace && s.agentSchedules == o.agentSchedules && reflect.DeepEqual(s.tools, o.tools)
}

// newTools makes the tool set of one engine; what outlives an engine, background processes and decisions given for
// always, is the runtime's.
func (r *Runtime) newTools(s settings, environ []string) (*toolBox, error) {
	c := s.tools
	c.Workspace, c.Home, c.Environ = s.workspace, r.o.Paths.Home, environ
	c.Log, c.Clock, c.RunID, c.Orphans = r.o.Log, r.o.Clock, r.o.RunID, r.o.Orphans
	c.Processes, c.Approvals = r.processes, r.approvals
	c.Declared = func(rel string) bool { return home.DeclaredFile(r.o.Paths, rel) }
	c.Guarded = append([]string{r.o.Paths.Root}, r.o.Guarded...)
	c.Sessions = sessionSearcher{r.store}
	c.Delegate = r.delegate
	if s.agentSchedules {
		c.Cron = r.manageJobs
	}
	set, err := tools.NewSet(c)
	if err != nil {
		return nil, err
	}
	return (&toolBox{set: set, detach: r.servers.Attach(set)}).retain(), nil
}

// Tools tells what the profile's agent may use, what not, and why.
func (r *Runtime) Tools() (tools.Overview, error) {
	if err := r.admit(); err != nil {
		return tools.Overview{}, err
	}
	defer r.leave()
	e, _, err := r.enter()
	if err != nil {
		return tools.Overview{}, err
	}
	defer e.turns.Done()
	o := e.tools.set.Overview()
	o.Servers = r.servers.List()
	return o, nil
}

// RevokeApproval takes back a decision given for always, or every one with "all", and reports whether there was one.
func (r *Runtime) RevokeApproval(id string) (bool, error) { return r.approvals.Revoke(id) }

// Processes lists what the agent has started in the background.
func (r *Runtime) Processes() []tools.ProcessInfo { return r.processes.List("") }

// SurveyTools tells what a home's configuration selects, for a profile that nothing serves. It reads config.yaml and
// the approvals, and changes nothing.
func SurveyTools(paths home.Paths, clk clock.PassiveClock) (tools.Overview, error) {
	config, err := home.NewView(paths.Config(), clk).Read()
	if err != nil {
		return tools.Overview{}, err
	}
	c, err := toolConfig(config)
	if err != nil {
		return tools.Overview{}, err
	}
	c.Home = paths.Home
	o, err := tools.Survey(c)
	if err != nil {
		return tools.Overview{}, err
	}
	o.Approvals, o.Servers = approvalsOf(paths, clk).List(), unservedServers(config)
	return o, nil
}

// missingSkills says which skills the configuration names that the home does not have; "" when there are none.
func (r *Runtime) missingSkills(c *home.Config) string {
	return tools.MissingSkills(r.closing, r.o.Paths.Home, tools.SkillConfig{Enabled: c.Strings("skills", "enabled")})
}

// forget removes what the tools have kept for sessions that are gone.
func (r *Runtime) forget(sessions []string) {
	for _, id := range sessions {
		if err := tools.ForgetSession(r.o.Paths.Home, id); err != nil {
			r.o.Log.Error(err, "what tools keep of a deleted session stays", "session", id)
		}
	}
}
