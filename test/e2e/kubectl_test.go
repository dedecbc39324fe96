package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRealKubectl is the API as people who know Kubernetes use it, right after the first start.
func TestRealKubectl(t *testing.T) {
	c := started(t)
	resources := c.must(c.Kubectl("", "api-resources", "--api-group=hermes.dev", "-o", "name"))
	for _, kind := range []string{"profiles", "gateways", "relayidentities", "metricsconsents", "schedules"} {
		if !strings.Contains(resources, kind+".hermes.dev") {
			t.Errorf("%s is not served right after the first start:\n%s", kind, resources)
		}
	}

	c.must(c.Kubectl(demoYAML("one", ""), "apply", "-f", "-"))
	c.must(c.Kubectl(demoYAML("two", ""), "apply", "--server-side", "-f", "-"))
	c.must(c.Kubectl("", "wait", "--for=condition=Ready", "profile/one", "profile/two", "--timeout=60s"))

	table := c.must(c.Kubectl("", "get", "profiles"))
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "READY") || !strings.Contains(lines[1], "True") {
		t.Errorf("kubectl get profiles:\n%s", table)
	}
	if short := c.must(c.Kubectl("", "get", "hermes", "-o", "name")); !strings.Contains(short, "profile.hermes.dev/one") || !strings.Contains(short, "gateway.hermes.dev/default") {
		t.Errorf("kubectl get hermes: %s", short)
	}
	var list struct {
		Kind  string
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(c.must(c.Kubectl("", "get", "hprof", "-o", "json"))), &list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "List" || len(list.Items) != 2 || len(list.Items[0].Status.Conditions) == 0 {
		t.Errorf("kubectl get hprof -o json: %+v", list)
	}
	if text := c.must(c.Kubectl("", "describe", "profile/one")); !strings.Contains(text, "Provider:") || !strings.Contains(text, "Served") {
		t.Errorf("kubectl describe:\n%s", text)
	}
	if text := c.must(c.Kubectl("", "explain", "profile.spec.model")); !strings.Contains(text, "Which model answers") && !strings.Contains(text, "baseURL") {
		t.Errorf("kubectl explain:\n%s", text)
	}
	same := c.must(c.Kubectl(demoYAML("one", ""), "apply", "-f", "-"))
	if !strings.Contains(same, "unchanged") {
		t.Errorf("a second apply of the same: %s", same)
	}

	c.must(c.Kubectl("", "delete", "profile/one", "profile/two", "--timeout=60s"))
	if left := c.must(c.Kubectl("", "get", "profiles", "-o", "name")); left != "" {
		t.Errorf("after delete: %s", left)
	}
}

// TestBadManifestsAreRefusedWithWhatToChange: nothing of a bad manifest is stored, and the one message helps.
func TestBadManifestsAreRefusedWithWhatToChange(t *testing.T) {
	c := started(t)
	big := strings.Repeat("x", 2<<20)
	for name, bad := range map[string]struct{ manifest, says string }{
		"yaml":       {"kind: [", "did not find expected"},
		"escape":     {demoYAML("bad", "  homeFiles: {../../etc/passwd: {content: x}}\n"), "relative to HERMES_HOME"},
		"absolute":   {demoYAML("bad", "  homeFiles: {/etc/passwd: {content: x}}\n"), "relative to HERMES_HOME"},
		"ours":       {demoYAML("bad", "  homeFiles: {state.db-wal: {content: x}}\n"), "written by the runtime"},
		"documents":  {demoYAML("bad", "  workspace: {documents: {a.md: {content: x}}}\n"), "workspace.directory"},
		"no address": {"apiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: bad}\nspec: {model: {provider: custom, name: x}}\n", "needs baseURL"},
		"huge":       {demoYAML("bad", "  identity: {soul: "+big+"}\n"), "soul"},
		"variable":   {demoYAML("bad", "  env: [{name: HERMES_HOME, value: /tmp}]\n"), "HERMES_"},
		"home":       {gatewayYAML("bad", "  home: relative/path\n"), "absolute"},
	} {
		for _, apply := range []func() result{
			func() result { return c.HermesInput(bad.manifest, "apply", "-f", "-") },
			func() result { return c.Kubectl(bad.manifest, "apply", "--server-side", "-f", "-") },
		} {
			if r := apply(); r.Code == 0 || !strings.Contains(strings.ToLower(r.Err), strings.ToLower(bad.says)) {
				t.Errorf("%s: exit %d, want a refusal that says %q: %.400s", name, r.Code, bad.says, r.Err)
			}
		}
	}
	if left := c.must(c.Kubectl("", "get", "profiles,gateways", "-o", "name")); left != "gateway.hermes.dev/default\n" {
		t.Errorf("stored: %s", left)
	}
}
