package tools

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestT20SkillFrontMatter(t *testing.T) {
	full := skillMeta{
		Name: "deploy", Description: "How to deploy.", Platforms: []string{"linux", "macos"}, Environments: []string{"docker"}, RequiresApps: []string{"git"},
		RequiresToolsets: []string{"terminal"}, FallbackTools: []string{"x_deploy"}, RequiredVariables: []string{"TOKEN", "OTHER"},
	}
	matter := "name: deploy\ndescription: How to deploy.\nversion: 1.2\nplatforms: [linux, macos]\nenvironments: docker\nrequires_apps:\n- git\nrequired_environment_variables:\n- name: TOKEN\n- OTHER\n"
	nested := "metadata:\n  hermes:\n    requires_toolsets: [terminal]\n    fallback_for_tools: [x_deploy]\n"
	degraded := skillMeta{Name: "deploy", Description: "use this: always", Platforms: []string{"linux", "macos"}, RequiresApps: []string{"git"}}
	for _, tt := range []struct {
		name, text string
		want       skillMeta
		body       string
		broken     bool
	}{
		{"full", "---\n" + matter + nested + "---\nDo it.\n", full, "Do it.\n", false},
		{"BOM and CRLF", "\ufeff" + strings.ReplaceAll("---\n"+matter+nested+"---\nDo it.\n", "\n", "\r\n"), full, "Do it.\n", false},
		{"none", "Just text\n", skillMeta{}, "Just text\n", false},
		{"never ends", "---\nname: x\n", skillMeta{}, "---\nname: x\n", false},
		{"no text", "---\nname: x\n---", skillMeta{Name: "x"}, "", false},
		{"empty", "---\n---\nText", skillMeta{}, "Text", false},
		{"malformed keeps its gates", "---\nname: deploy\ndescription: use this: always\nplatforms: [linux, 'macos']\nrequires_apps:\n  - git\n\tbad\n---\nx", degraded, "x", true},
		{"wrong types", "---\nname: [a]\ndescription: 7\nplatforms: {a: b}\n---\nx", skillMeta{Description: "7"}, "x", false},
	} {
		t.Run("T20 "+tt.name, func(t *testing.T) {
			got, body := parseSkill(tt.text)
			if (got.Degraded != "") != tt.broken {
				t.Errorf("degraded: %q", got.Degraded)
			}
			got.Degraded = ""
			if !reflect.DeepEqual(got, tt.want) || body != tt.body {
				t.Errorf("parseSkill = %+v, %q\nwant %+v", got, body, tt.want)
			}
		})
	}
}

func FuzzParseSkill(f *testing.F) {
	f.Add("---\nname: x\ndescription: [a, b]\n---\nbody")
	f.Add("\ufeff---\r\na: b: c\r\n- d\r\n---")
	f.Fuzz(func(t *testing.T, text string) {
		meta, _ := parseSkill(text)
		if strings.ContainsAny(meta.Description, "\n\x1b") {
			t.Errorf("description %q", meta.Description)
		}
	})
}

func TestT21T22SkillGates(t *testing.T) {
	in := func(names ...string) func(string) bool {
		return func(n string) bool { return strings.Contains(" "+strings.Join(names, " ")+" ", " "+n+" ") }
	}
	facts := skillFacts{
		platform:    "darwin",
		environment: func(n string) (bool, bool) { return n == "docker", n == "docker" || n == "s6" },
		app:         in("git"), toolset: in("terminal"), tool: in("web_fetch"),
	}
	for _, tt := range []struct {
		rule            string
		meta            skillMeta
		usable, offered bool
	}{
		{"T21 no gates", skillMeta{}, true, true},
		{"T21 platform by another name", skillMeta{Platforms: []string{"Linux", "macOS"}}, true, true},
		{"T21 other platform", skillMeta{Platforms: []string{"windows"}}, false, true},
		{"T21 one environment of two", skillMeta{Environments: []string{"s6", "docker"}}, true, true},
		{"T21 absent environment", skillMeta{Environments: []string{"s6"}}, true, false},
		{"T21 unknown environment fails open", skillMeta{Environments: []string{"s6", "moon"}}, true, true},
		{"T21 app present", skillMeta{RequiresApps: []string{"git"}}, true, true},
		{"T21 unknown app fails closed", skillMeta{RequiresApps: []string{"git", "moon"}}, true, false},
		{"T22 requires a toolset", skillMeta{RequiresToolsets: []string{"terminal"}}, true, true},
		{"T22 requires any missing", skillMeta{RequiresToolsets: []string{"terminal", "vision"}}, true, false},
		{"T22 requires a tool", skillMeta{RequiresTools: []string{"web_search"}}, true, false},
		{"T22 fallback for what is missing", skillMeta{FallbackToolsets: []string{"vision"}, FallbackTools: []string{"web_search"}}, true, true},
		{"T22 fallback for any present", skillMeta{FallbackTools: []string{"web_search", "web_fetch"}}, true, false},
		{"T22 fallback for a toolset", skillMeta{FallbackToolsets: []string{"terminal"}}, true, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			usable, _ := tt.meta.usable(facts)
			offered, why := tt.meta.offered(facts)
			if usable != tt.usable || offered != tt.offered || offered == (why != "") {
				t.Errorf("usable %v, offered %v (%s)", usable, offered, why)
			}
		})
	}
}

func skillText(name, more string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: About %s.\n%s---\n# %s\nDo it.\n", name, name, more, name)
}

func skillSet(t *testing.T, change func(*Config)) *Set {
	s := newTestSet(t, func(c *Config) {
		writeTree(t, c.Home, map[string]string{
			"skills/zeta/SKILL.md": skillText("zeta", ""), "skills/group/alpha/SKILL.md": skillText("alpha", "required_environment_variables: [TOKEN]\n"),
			"skills/group/alpha/references/api.md": "the api", "skills/group/alpha/references/old/SKILL.md": skillText("old", ""),
			"skills/group/alpha/templates/SKILL.md": skillText("template", ""), "skills/.git/x/SKILL.md": skillText("vcs", ""), "skills/node_modules/x/SKILL.md": skillText("dep", ""),
			"skills/mars/SKILL.md": skillText("mars", "platforms: [mars]\n"), "skills/needy/SKILL.md": skillText("needy", "requires_apps: [moon]\n"),
			"skills/copy/zeta/SKILL.md": skillText("zeta", "version: 9\n"), "skills/unnamed thing/SKILL.md": "# What it does\n\nSteps.\n",
			"plug/deploy/SKILL.md": skillText("deploy", ""), ".env": "KEY=hunter2",
		})
		if change != nil {
			change(c)
		}
	})
	return s
}

func TestT23SkillDiscovery(t *testing.T) {
	s := skillSet(t, func(c *Config) { c.Skills.Plugins = map[string]string{"ops": filepath.Join(c.Home, "plug")} })
	home := s.config.Home
	symlink(t, filepath.Join(home, "plug"), filepath.Join(home, "skills", "linked"))
	want := "alpha: About alpha.\nops:deploy: About deploy.\nunnamed thing: What it does\nzeta: About zeta.\n"
	if got := must(t, s, "skills_list", nil); got != want {
		t.Errorf("skills_list = %q, want %q", got, want)
	}
	all := must(t, s, "skills_list", map[string]any{"all": true})
	for _, want := range []string{"mars (not offered: it is for mars)", "needy (not offered: it needs the application moon)"} {
		if !strings.Contains(all, want) {
			t.Errorf("all = %q, want %q", all, want)
		}
	}
	prompt := s.Prompt(t.Context())
	if !strings.HasSuffix(prompt, "- alpha: About alpha.\n- ops:deploy: About deploy.\n- unnamed thing: What it does\n- zeta: About zeta.") || prompt != s.Prompt(t.Context()) {
		t.Errorf("prompt = %q", prompt)
	}
}

func TestT21SkillView(t *testing.T) {
	s := skillSet(t, nil)
	got := must(t, s, "skill_view", map[string]any{"name": "alpha"})
	for _, want := range []string{"# alpha\nDo it.", "[file: references/api.md]", "environment variable TOKEN, which is not set"} {
		if !strings.Contains(got, want) {
			t.Errorf("alpha = %q, want %q", got, want)
		}
	}
	if got := must(t, s, "skill_view", map[string]any{"name": "alpha", "file": "references/api.md"}); got != "the api" {
		t.Errorf("file = %q", got)
	}
	must(t, s, "skill_view", map[string]any{"name": "needy"}) // an explicit view ignores offer gates
	refused(t, s, "skill_view", map[string]any{"name": "mars"}, "it is for mars")
	refused(t, s, "skill_view", map[string]any{"name": "nope"}, "there are: alpha, unnamed thing, zeta")
	dir := filepath.Join(s.config.Home, "skills", "zeta")
	symlink(t, filepath.Join(s.config.Home, ".env"), filepath.Join(dir, "env"))
	symlink(t, s.config.Home, filepath.Join(dir, "house"))
	for _, file := range []string{"../group/alpha/SKILL.md", "/etc/passwd", "env", "house/.env", "~/x", "../../.env"} {
		refused(t, s, "skill_view", map[string]any{"name": "zeta", "file": file}, "outside")
	}
}

func TestSkillsNamedByTheProfile(t *testing.T) {
	s := skillSet(t, func(c *Config) { c.Skills.Enabled = []string{"needy", "mars", "absent"} })
	want := "needy: About needy.\nabsent (named in spec.skills, but there is none)\n"
	if got := must(t, s, "skills_list", nil); got != want {
		t.Errorf("skills_list = %q, want %q", got, want)
	}
}

func TestSkillManage(t *testing.T) {
	s := skillSet(t, func(c *Config) {
		c.Declared = func(rel string) bool { return rel == "skills/zeta/SKILL.md" }
	})
	write := func(name, file, content string) map[string]any {
		a := map[string]any{"action": "write", "name": name, "content": content}
		if file != "" {
			a["file"] = file
		}
		return a
	}
	must(t, s, "skill_manage", write("mine", "", skillText("mine", "")))
	must(t, s, "skill_manage", write("mine", "references/x.md", "more"))
	if got := must(t, s, "skill_view", map[string]any{"name": "mine"}); !strings.Contains(got, "[file: references/x.md]") {
		t.Errorf("mine = %q", got)
	}
	outside := t.TempDir()
	symlink(t, outside, filepath.Join(s.config.Home, "skills", "mine", "out"))
	for want, args := range map[string]map[string]any{
		"cannot be the name":    write("../x", "", skillText("x", "")),
		"below the skill":       write("mine", "../../.env", "x"),
		"is declared":           write("zeta", "notes.md", "x"),
		"must begin with":       write("mine", "", "no front matter"),
		"name: mine":            write("mine", "", skillText("other", "")),
		"no valid YAML":         write("mine", "", "---\nname: mine\ndescription: a: b\n---\nx"),
		"outside the workspace": write("mine", "out/x", "x"),
		"no such file":          {"action": "delete", "name": "mine", "file": "none"},
	} {
		refused(t, s, "skill_manage", args, want)
	}
	must(t, s, "skill_manage", map[string]any{"action": "delete", "name": "mine", "file": "references/x.md"})
	must(t, s, "skill_manage", map[string]any{"action": "delete", "name": "mine"})
	refused(t, s, "skill_view", map[string]any{"name": "mine"}, "no skill")
	if runtime.GOOS == "linux" && exists(filepath.Join(s.config.Home, "skills", "mine")) {
		t.Error("the directory is left")
	}
}

func TestSkillPromptIsBounded(t *testing.T) {
	s := newTestSet(t, func(c *Config) {
		files := map[string]string{}
		for i := range 300 {
			files[fmt.Sprintf("skills/s%03d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%03d\ndescription: %s\n---\nx", i, strings.Repeat("word ", 20))
		}
		writeTree(t, c.Home, files)
	})
	got := s.Prompt(t.Context())
	if len(got) > maxSkillPrompt+300 || !strings.Contains(got, "- s000: word") || !strings.Contains(got, "more: call skills_list") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}
