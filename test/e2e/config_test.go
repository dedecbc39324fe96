package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestChangesTakeEffectWithoutRestart: model, files and configuration follow the declaration in the same process, and
// what a person made in the home stays theirs.
func TestChangesTakeEffectWithoutRestart(t *testing.T) {
	c := started(t)
	k, first, second := c.Client(), model(t), model(t)
	declare := func(url, extra string) { c.Apply(profileYAML("one", url, extra)) }
	declare(first.URL(), "  homeFiles: {memories/a.md: {content: a}, notes/b.md: {content: b}}\n  config: {display: {theme: dark, size: 3}}\n")
	gw := gateway("default")
	AwaitReady(c, k, profile("one"), gw)
	pid := gw.Status.Instance.PID
	one, err := c.Turn("one", "", "to the first")
	if err != nil {
		t.Fatal(err)
	}
	home := c.ProfileHome("one")
	mine := filepath.Join(home, "notes", "mine.md")
	writeFile(t, mine, "mine\n")
	before := fingerprints(t, mine)
	config := filepath.Join(home, "config.yaml")
	writeFile(t, config, readFile(t, config)+"person: {key: kept}\n")

	declare(second.URL(), "  homeFiles: {memories/a.md: {content: A}, memories/c.md: {content: c}}\n  config: {display: {size: 4}}\n")
	changed := time.Now()
	await(t, "a turn at the other model", func() string {
		if _, err := c.Turn("one", one.Hermes.Session, "to the second"); err != nil {
			return err.Error()
		}
		if len(second.Requests()) == 0 {
			return "still the first"
		}
		return ""
	})
	t.Logf("a new model address took effect %s after apply", time.Since(changed))
	AwaitReady(c, k, profile("one"), gw)
	if gw.Status.Instance.PID != pid || gw.Status.Restarts != 0 {
		t.Error("the gateway was restarted")
	}
	if body := string(second.Requests()[0].Body); !strings.Contains(body, "to the first") {
		t.Errorf("the session lost what was said before the change: %.1000s", body)
	}

	if a, b := readFile(t, filepath.Join(home, "memories", "a.md")), readFile(t, filepath.Join(home, "memories", "c.md")); a != "A" || b != "c" {
		t.Errorf("files: a %q, c %q", a, b)
	}
	if _, err := os.Stat(filepath.Join(home, "notes", "b.md")); err == nil {
		t.Error("a file that is not declared any more is still there")
	}
	untouched(t, "person's file", before, fingerprints(t, mine))
	text := readFile(t, config)
	if strings.Contains(text, "dark") || !strings.Contains(text, "size: 4") || !strings.Contains(text, "key: kept") {
		t.Errorf("config.yaml:\n%s", text)
	}
}

// TestMistakesRecoverByThemselves: a suspended profile, an unknown Gateway and a bad overlay each say what is the case
// and are Ready again once the declaration is, without any other help.
func TestMistakesRecoverByThemselves(t *testing.T) {
	c := started(t)
	k := c.Client()
	for name, mistake := range map[string]struct{ spec, condition, reason, says string }{
		"suspended": {"  suspended: true\n", "Ready", "Suspended", ""},
		"homeless":  {"  gatewayRef: {name: nowhere}\n", "Ready", "GatewayNotFound", `"nowhere"`},
		"overlay":   {"  config: {model: {provider: openai}}\n", "Ready", "ConfigInvalid", "model"},
		"toolset":   {"  toolsets: [nonsense]\n", "Ready", "ConfigInvalid", "nonsense"},
		"reference": {"  identity: {soulFrom: {configMapKeyRef: {name: absent, key: soul}}}\n", "Ready", "ConfigMapNotFound", "absent"},
	} {
		c.Apply(demoYAML(name, mistake.spec))
		got := AwaitCondition(c, k, profile(name), mistake.condition, "False", mistake.reason)
		if !strings.Contains(got.Message, mistake.says) {
			t.Errorf("%s: the message does not say %q: %s", name, mistake.says, got.Message)
		}
		if _, err := c.Turn(name, "", "hello"); err == nil && name != "reference" {
			t.Errorf("%s answers", name)
		}
	}
	c.Apply(gatewayYAML("nowhere", ""))
	c.Apply(demoYAML("suspended", ""), demoYAML("overlay", ""), demoYAML("toolset", ""))
	c.must(c.Kubectl("", "create", "configmap", "absent", "--from-literal=soul=calm"))
	for _, name := range []string{"suspended", "homeless", "overlay", "toolset", "reference"} {
		AwaitReady(c, k, profile(name))
	}
	if soul := readFile(t, filepath.Join(c.ProfileHome("reference"), "SOUL.md")); soul != "calm" {
		t.Errorf("SOUL.md %q", soul)
	}
	say(t, c.API(c.GatewayHome("nowhere")), "homeless", "hello")
	c.Say("suspended", "hello")
}

// TestHandEditsAreShownAndForgiven: a mistake that a person makes in config.yaml, or a workspace that is missing, shows
// as a condition after the turn that met it, and goes once a turn works again.
func TestHandEditsAreShownAndForgiven(t *testing.T) {
	c := started(t)
	k, workspace := c.Client(), filepath.Join(c.Dir, "workspace")
	c.Apply(demoYAML("one", ""), demoYAML("two", "  workspace: {directory: "+workspace+"}\n"))
	AwaitReady(c, k, profile("one"))
	config := filepath.Join(c.ProfileHome("one"), "config.yaml")
	good := readFile(t, config)
	writeFile(t, config, good+"agent: {max_turns: -3}\n") // toolsets would be what is declared, whatever stands there
	await(t, "a turn that meets the mistake", func() string {
		if _, err := c.Turn("one", "", "hello"); code(err) != "config_invalid" {
			return "got " + code(err)
		}
		return ""
	})
	AwaitCondition(c, k, profile("one"), "Ready", "False", "ConfigInvalid")
	writeFile(t, config, good)
	await(t, "a turn after the correction", func() string {
		if _, err := c.Turn("one", "", "hello"); err != nil {
			return err.Error()
		}
		return ""
	})
	AwaitReady(c, k, profile("one"))

	AwaitReady(c, k, profile("two"))
	if err := os.RemoveAll(workspace); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Turn("two", "", "hello"); code(err) != "config_invalid" {
		t.Errorf("a turn without its workspace: %v", err)
	}
	missing := AwaitCondition(c, k, profile("two"), "Ready", "False", "ConfigInvalid")
	if !strings.Contains(missing.Message, workspace) {
		t.Errorf("the message does not name the directory: %s", missing.Message)
	}
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Say("two", "hello")
	AwaitReady(c, k, profile("two"))
}
