package homeimport

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/test/pythonhome"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func found(t *testing.T) Home {
	t.Helper()
	dir := t.TempDir()
	pythonhome.Write(t, dir)
	w, _ := pythonhome.OpenStore(t, dir, 30)
	w.Close(t)
	h, err := Read(dir)
	must(t, err)
	return h
}

func convert(t *testing.T, secrets bool) Objects {
	t.Helper()
	o, err := Convert(found(t), Options{Name: "ada", Gateway: "home", Secrets: secrets})
	must(t, err)
	return o
}

// TestRead finds what is there, says what it cannot take, and changes nothing.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	pythonhome.Write(t, dir)
	w, _ := pythonhome.OpenStore(t, dir, 30)
	w.Close(t)
	before := Fingerprint(t, dir)
	h, err := Read(dir)
	must(t, err)
	if copied, err := CopyFiles(h, t.TempDir()); err != nil || copied != len(h.Files) {
		t.Errorf("copied %d of %d: %v", copied, len(h.Files), err)
	}
	if after := Fingerprint(t, dir); after != before {
		t.Errorf("the source changed:\n%s\nwas\n%s", after, before)
	}
	if h.Name != "default" || !h.HasStore || len(h.Env) != 4 || len(h.Jobs) != 5 {
		t.Errorf("%s, store %v, %d variables, %d jobs", h.Name, h.HasStore, len(h.Env), len(h.Jobs))
	}
	if want := []string{"memories/MEMORY.md", "memories/USER.md", "skills/notes/SKILL.md", "skills/notes/scripts/run.sh", "skills/weird \u202ename/SKILL.md"}; !slices.Equal(h.Files, want) {
		t.Errorf("files %q", h.Files)
	}
	if !slices.Equal(h.Ignored, []string{"auth.json", "sessions"}) {
		t.Errorf("ignored %v", h.Ignored)
	}
	hasNotes(t, h.Notes, "SOUL.md is not all UTF-8", "memories/passwd was not taken over", "cron job number 6 was skipped")
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not the home of an agent") {
		t.Error(err)
	}
}

// Fingerprint is every file below dir with its mode, time and content.
func Fingerprint(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %s %s %d", path, info.Mode(), info.ModTime(), info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %x", sha256.Sum256(data))
		}
		out.WriteString("\n")
		return nil
	}))
	return out.String()
}

func hasNotes(t *testing.T, notes []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, w) }) {
			t.Errorf("no note says %q:\n%s", w, strings.Join(notes, "\n"))
		}
	}
}

// TestConvert: keys with a field become it, others go to spec.config, and everything else is named.
func TestConvert(t *testing.T) {
	o := convert(t, true)
	s := o.Profile.Spec
	m := s.Model
	if m.Provider != "openrouter" || m.Name != "qwen3" || m.BaseURL != "https://openrouter.ai/api/v1" || m.CacheTTL != "1h" || m.ContextWindow == nil || *m.ContextWindow != 65536 {
		t.Errorf("model %+v", m)
	}
	if len(m.Credentials) != 1 || m.Credentials[0].SecretKeyRef != (v1alpha1.SecretKeyRef{Name: "ada-keys", Key: "OPENROUTER_API_KEY"}) {
		t.Errorf("credentials %+v", m.Credentials)
	}
	if len(m.Fallbacks) != 1 || m.Fallbacks[0].Name != "gpt-5-mini" || len(m.Fallbacks[0].Credentials) != 0 {
		t.Errorf("fallbacks %+v", m.Fallbacks)
	}
	if s.GatewayRef.Name != "home" || s.Identity == nil || !strings.HasPrefix(*s.Identity.Soul, "You are Hermes.") || s.Workspace.Directory != "/home/me/project" {
		t.Errorf("%+v", s)
	}
	if s.Cron == nil || s.Cron.Timezone != "Europe/Berlin" || *s.Cron.MaxParallelJobs != 2 || *s.Cron.CatchUpMissed {
		t.Errorf("cron %+v", s.Cron)
	}
	if !slices.Equal(s.Toolsets, []string{"hermes-cli", "file", "terminal"}) || s.Approvals.Mode != v1alpha1.ApprovalAsk || len(s.MCPServers) != 1 {
		t.Errorf("tools %v %v %v", s.Toolsets, s.Approvals, s.MCPServers)
	}
	var overlay map[string]any
	must(t, yaml.Unmarshal(s.Config.Raw, &overlay))
	if fmt.Sprint(overlay) != "map[auxiliary:map[vision:map[model:v]] compression:map[enabled:true] cron:map[wrap_response:false] model:map[temperature:0.3] my_own_plugin:map[colour:red]]" {
		t.Errorf("overlay %v", overlay)
	}
	if !slices.Equal(o.Unknown, []string{"my_own_plugin"}) || !slices.Contains(o.Typed, "model.provider") {
		t.Errorf("unknown %v, typed %v", o.Unknown, o.Typed)
	}
	hasNotes(t, o.Notes, `toolset "someone-elses"`, `approvals.mode "smart" became Ask`, "fallback_providers entry 2", "auxiliary.vision.api_key", "shared_metrics",
		"mcp_servers.broken", "mcp_servers.search.sampling", "HERMES_CRON_TIMEOUT", "auth.json of the home", "runs twice")
}

// TestConvertedProfileRenders: what comes out is accepted by what reads it, and no key of the model reaches the tools.
func TestConvertedProfileRenders(t *testing.T) {
	o := convert(t, true)
	o.Profile.Namespace = "default"
	resolved := home.Resolved{Secrets: map[string]map[string][]byte{}}
	for _, s := range o.Secrets {
		resolved.Secrets[s.Name] = map[string][]byte{}
		for k, v := range s.StringData {
			resolved.Secrets[s.Name][k] = []byte(v)
		}
	}
	b, err := home.Render(o.Profile, resolved)
	must(t, err)
	env := map[string]string{}
	for _, e := range b.Env {
		env[e.Name] = e.Value
	}
	if env["HERMES_MODEL_API_KEY"] != "sk-openrouter-secret" || env["TELEGRAM_BOT_TOKEN"] != "tg-bot-secret" || env["EDITOR"] != "vim" || env["OPENROUTER_API_KEY"] != "" {
		t.Errorf("env %v", env)
	}
	if env["HERMES_MCP_SEARCH_TOKEN"] != "mcp-literal-secret" || env["HERMES_MCP_SEARCH_OTHER"] != "tg-bot-secret" {
		t.Errorf("env %v", env)
	}
}

// TestSecretsStay: without being asked for, no value of a secret is in anything that is written; the names are.
func TestSecretsStay(t *testing.T) {
	text, err := convert(t, false).Manifest()
	must(t, err)
	for _, secret := range pythonhome.Secrets {
		if strings.Contains(string(text), secret) {
			t.Errorf("the manifest holds %s", secret)
		}
	}
	for _, name := range []string{"OPENROUTER_API_KEY: \"\"", "TELEGRAM_BOT_TOKEN: \"\"", "MCP_SEARCH_TOKEN: \"\"", "without their values"} {
		if !strings.Contains(string(text), name) {
			t.Errorf("the manifest lacks %s:\n%s", name, text)
		}
	}
	with, err := convert(t, true).Manifest()
	must(t, err)
	if !strings.Contains(string(with), "tg-bot-secret") || strings.Contains(string(with), "auxiliary-secret") {
		t.Error("with secrets: not the right ones")
	}
}

// TestJobs: what can be said becomes a Schedule, what cannot is named.
func TestJobs(t *testing.T) {
	o := convert(t, false)
	var got []string
	for _, s := range o.Schedules {
		repeat := "-"
		if s.Spec.Repeat != nil {
			repeat = fmt.Sprint(*s.Spec.Repeat)
		}
		got = append(got, fmt.Sprintf("%s|%s|%v|%v|%v|%s", s.Name, s.Spec.Schedule, s.Spec.Skills, s.Spec.Deliver, s.Spec.Suspend, repeat))
	}
	want := []string{
		"ada-morning-brief|0 9 * * 1-5|[notes]|[telegram:42 local]|false|6",
		"ada-morning-brief-2|every 90m|[]|[]|true|-",
		"ada-once|2027-01-31T09:00:00+01:00|[]|[]|false|-",
	}
	if !slices.Equal(got, want) {
		t.Errorf("schedules\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if o.Schedules[0].Spec.Prompt != "line one\nline two" {
		t.Errorf("prompt %q", o.Schedules[0].Spec.Prompt)
	}
	hasNotes(t, o.Notes, `"done" is not taken over: it is finished`, `"watch" is not taken over: it runs a script`, `workdir cannot be said`, "was delivered to the chat it came from")
}

// TestParseJobsC102 is the tolerance of the job store's reader.
func TestParseJobsC102(t *testing.T) {
	job := `{"id":"a","prompt":"p","schedule":{"kind":"interval","minutes":5}}`
	for name, c := range map[string]struct {
		text string
		want int
		err  string
	}{
		"none": {"", 0, ""}, "object": {`{"jobs":[` + job + `]}`, 1, ""}, "mark": {"\ufeff" + `{"jobs":[` + job + `]}`, 1, ""}, "bare list": {`[` + job + `]`, 1, ""},
		"keyed by id": {`{"x":` + job + `,"updated_at":"now"}`, 1, ""}, "jobs keyed by id": {`{"jobs":{"x":` + job + `}}`, 1, ""},
		"control characters": {strings.ReplaceAll(`[`+job+`]`, `"p"`, "\"a\tb\\\"\nc\""), 1, ""}, "text": {`"jobs"`, 0, "neither"}, "no JSON": {`{"jobs":[`, 0, "not JSON"},
	} {
		jobs, _, err := ParseJobs(c.text)
		if len(jobs) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d jobs, %v", name, len(jobs), err)
		}
	}
}

// TestModels is the truth table of model keys.
func TestModels(t *testing.T) {
	for _, c := range []struct{ config, env, want, note string }{
		{"model: gpt-x", "OPENAI_API_KEY=k", "openai gpt-x  ada-keys/OPENAI_API_KEY", ""},
		{"model: gpt-x", "ANTHROPIC_API_KEY=k", "anthropic gpt-x  ada-keys/ANTHROPIC_API_KEY", "see that it is right"},
		{"model: {model: m, base_url: 'http://127.0.0.1:1/v1'}", "", "custom m http://127.0.0.1:1/v1 ", ""},
		{"model: {default: m, provider: OpenAI, api_key: 'sk-x'}", "", "openai m  ada-keys/MODEL_API_KEY", ""},
		{"model: {default: m, provider: openai, api_key: '${MINE}'}", "MINE=k", "openai m  ada-keys/MINE", ""},
		{"model: {default: m, provider: 'not a name'}", "", "custom m  ", "needs spec.model.baseURL"},
		{"", "", "openai   ", "names no model"},
		{"model: 7", "", "openai   ", "names no model"},
	} {
		config, err := home.ParseConfig([]byte(c.config))
		must(t, err)
		h := Home{Config: map[string]any{}}
		must(t, config.Decode(&h.Config))
		h.Env, err = home.ParseEnv([]byte(c.env))
		must(t, err)
		o, err := Convert(h, Options{Name: "ada"})
		must(t, err)
		m, ref := o.Profile.Spec.Model, ""
		if len(m.Credentials) > 0 {
			ref = m.Credentials[0].SecretKeyRef.Name + "/" + m.Credentials[0].SecretKeyRef.Key
		}
		if got := fmt.Sprintf("%s %s %s %s", m.Provider, m.Name, m.BaseURL, ref); got != c.want {
			t.Errorf("%s: %q, want %q", c.config, got, c.want)
		}
		if c.note != "" {
			hasNotes(t, o.Notes, c.note)
		}
	}
}

// TestNames: what a Profile cannot be called is refused with what it can.
func TestNames(t *testing.T) {
	for _, name := range []string{"", "Ada", "a_b", "hermes", "-a", strings.Repeat("a", 64), "a/b"} {
		if _, err := Convert(Home{}, Options{Name: name}); err == nil || !strings.Contains(err.Error(), "--name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestManifestIsReadable: names from the old home can neither break the manifest nor move a terminal's cursor.
func TestManifestIsReadable(t *testing.T) {
	h := found(t)
	h.Notes = append(h.Notes, "evil\x1b[2J\n---\nkind: Secret \u202e name")
	o, err := Convert(h, Options{Name: "ada"})
	must(t, err)
	text, err := o.Manifest()
	must(t, err)
	if strings.ContainsAny(string(text), "\x1b\u202e") || !strings.Contains(string(text), "# - evil\uFFFD[2J --- kind: Secret \uFFFD name\n") {
		t.Errorf("%s", text)
	}
	for _, document := range strings.Split(string(text), "---\n")[1:] {
		var object struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil || object.Kind == "" {
			t.Errorf("%v in\n%s", err, document)
		}
	}
}

// TestCopyFilesAgain leaves what is there.
func TestCopyFilesAgain(t *testing.T) {
	h, to := found(t), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(to, "memories"), 0o700))
	must(t, os.WriteFile(filepath.Join(to, "memories", "USER.md"), []byte("mine"), 0o600))
	n, err := CopyFiles(h, to)
	if err != nil || n != len(h.Files)-1 {
		t.Errorf("%d copied: %v", n, err)
	}
	if data, _ := os.ReadFile(filepath.Join(to, "memories", "USER.md")); string(data) != "mine" {
		t.Errorf("written over: %q", data)
	}
	if n, err := CopyFiles(h, to); err != nil || n != 0 {
		t.Errorf("again: %d, %v", n, err)
	}
}
