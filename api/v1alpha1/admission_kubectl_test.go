package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	testcontrolplane "hermes.dev/hermes/test/controlplane"
)

// maxCRDBytes is the promise of design section 10: large CRDs cost every API server memory.
const maxCRDBytes = 50_000

func TestCRDsAreSmall(t *testing.T) {
	total := 0
	for kind, crd := range crds(t) {
		path := "../../config/crd/bases/hermes.dev_" + crd.Spec.Names.Plural + ".yaml"
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", kind, len(raw))
		total += len(raw)
		if len(raw) >= maxCRDBytes {
			t.Errorf("%s: %d bytes, want fewer than %d: shorten descriptions or share less structure", path, len(raw), maxCRDBytes)
		}
	}
	t.Logf("all: %d bytes", total)
}

// Everything kubectl explain shows has a description, status and items of lists included.
func TestEveryFieldHasADescription(t *testing.T) {
	for kind, crd := range crds(t) {
		walk(schemaOf(crd), "", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for name, p := range s.Properties {
				if path == "" && name == "metadata" {
					continue // described by the API machinery
				}
				if strings.TrimSpace(p.Description) == "" {
					t.Errorf("%s %s.%s has no description", kind, path, name)
				}
			}
		})
	}
	out := testcontrolplane.Kubectl(t, api.env.Kubeconfig, "explain", "hprof.spec.deletionPolicy")
	for _, want := range []string{"Retain keeps every file", "ENUM:\n    Retain\n    Delete"} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl explain does not show %q:\n%s", want, out)
		}
	}
}

// A node agent lists and watches its own objects only, by field.
func TestSelectableFields(t *testing.T) {
	cases := []struct{ kind, field, path string }{
		{"Profile", "spec.gatewayRef.name", "spec.gatewayRef.name"},
		{"RelayIdentity", "spec.gatewayRef.name", "spec.gatewayRef.name"},
		{"MetricsConsent", "spec.profileRef.name", "spec.profileRef.name"},
		{"Schedule", "spec.profileRef.name", "spec.profileRef.name"},
	}
	for _, c := range cases {
		t.Run(c.kind+" "+c.field, func(t *testing.T) {
			ns := namespace(t)
			for _, name := range []string{"one", "two"} {
				u := object(t, c.kind, "select-"+name, text(c.path, name), text("metadata.namespace", ns))
				if err := api.client.Create(t.Context(), u); err != nil {
					t.Fatal(err)
				}
			}
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("hermes.dev/v1alpha1")
			list.SetKind(c.kind + "List")
			if err := api.client.List(t.Context(), list, client.InNamespace(ns), client.MatchingFields{c.field: "two"}); err != nil {
				t.Fatal(err)
			}
			if len(list.Items) != 1 || list.Items[0].GetName() != "select-two" {
				t.Errorf("the selector %s=two found %d objects, want select-two only", c.field, len(list.Items))
			}
		})
	}
}

// The defaults of a short manifest are what the documentation says.
func TestDefaults(t *testing.T) {
	cases := []struct {
		kind, spec string
		want       map[string]any
	}{
		{"Profile", `{model: {provider: demo}, cron: {}, backup: {schedule: "0 3 * * *"}}`, map[string]any{
			"gatewayRef.name": "default", "model.cacheTTL": "5m", "approvals.mode": "Ask", "deletionPolicy": "Retain",
			"cron.catchUpMissed": true, "backup.keep": int64(7),
		}},
		{"Profile", `{gatewayRef: {}, model: {name: m}, approvals: {}}`, map[string]any{
			"gatewayRef.name": "default", "model.provider": "openai", "approvals.mode": "Ask",
		}},
		{"Gateway", ``, map[string]any{
			"engine": "Process", "drainTimeout": "30s", "backend.mode": "None", "backend.host": "127.0.0.1",
			"backend.port": int64(9119), "updatePolicy.mode": "Automatic",
		}},
		{"Gateway", `{backend: {}, updatePolicy: {}}`, map[string]any{"backend.mode": "None", "updatePolicy.mode": "Automatic"}},
		{"RelayIdentity", `{profileRef: {name: a}, platform: slack, botID: b, relevance: {}}`, map[string]any{
			"gatewayRef.name": "default", "relevance.requireMention": true,
		}},
		{"MetricsConsent", `{profileRef: {name: a}}`, map[string]any{"collect": false, "send": false}},
	}
	for i, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			u := object(t, c.kind, fmt.Sprintf("defaults-%d", i), set("spec", c.spec))
			if err := api.client.Create(t.Context(), u, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			for path, want := range c.want {
				got, _, err := unstructured.NestedFieldNoCopy(u.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
				if err != nil || got != want {
					t.Errorf("spec.%s defaults to %v (%v), want %v", path, got, err, want)
				}
			}
		})
	}
}

// kubectl finds the kinds by short name and by category, and prints their columns.
func TestKubectlNamesAndColumns(t *testing.T) {
	ns := namespace(t)
	var all []string
	for _, kind := range []string{"Profile", "Gateway", "RelayIdentity", "MetricsConsent", "Schedule"} {
		if err := api.client.Create(t.Context(), object(t, kind, "shown", text("metadata.namespace", ns))); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.ToLower(kind)+".hermes.dev/shown")
	}
	out := strings.Fields(testcontrolplane.Kubectl(t, api.env.Kubeconfig, "-n", ns, "get", "hermes", "-o", "name"))
	slices.Sort(out)
	slices.Sort(all)
	if !slices.Equal(out, all) {
		t.Errorf("kubectl get hermes: %v, want %v", out, all)
	}
	columns := map[string][]string{
		"hprof":  {"NAME", "READY", "REASON", "GATEWAY", "MODEL", "SESSIONS", "AGE"},
		"hgw":    {"NAME", "READY", "REASON", "ENGINE", "PROFILES", "PID", "HOME", "AGE"},
		"hri":    {"NAME", "READY", "REASON", "PLATFORM", "PROFILE", "AGE"},
		"hmc":    {"NAME", "READY", "REASON", "PROFILE", "COLLECT", "SEND", "AGE"},
		"hsched": {"NAME", "READY", "REASON", "PROFILE", "SCHEDULE", "NEXT", "AGE"},
	}
	for short, want := range columns {
		out := testcontrolplane.Kubectl(t, api.env.Kubeconfig, "-n", ns, "get", short, "-o", "wide")
		if head, _, _ := strings.Cut(out, "\n"); !slices.Equal(strings.Fields(head), want) {
			t.Errorf("kubectl get %s -o wide prints %v, want %v", short, strings.Fields(head), want)
		}
		if !strings.Contains(out, "shown") {
			t.Errorf("kubectl get %s does not show the object:\n%s", short, out)
		}
	}
}

// A refused manifest says on the terminal which field to change and how.
func TestKubectlShowsTheRefusal(t *testing.T) {
	raw, err := yaml.Marshal(object(t, "Profile", "wrong", remove("spec.model.baseURL")).Object)
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, err := testcontrolplane.KubectlInput(t, api.env.Kubeconfig, string(raw), "apply", "--server-side", "--dry-run=server", "-f", "-")
	if err == nil || !strings.Contains(stderr, "spec.model.baseURL") || !strings.Contains(stderr, "http://127.0.0.1:11434/v1") {
		t.Errorf("err %v, stderr: %s", err, stderr)
	}
}

// Status is a subresource: a manifest cannot claim that an object is ready, and conditions merge by type.
func TestStatusIsASubresource(t *testing.T) {
	for kind, crd := range crds(t) {
		if crd.Spec.Versions[0].Subresources == nil || crd.Spec.Versions[0].Subresources.Status == nil {
			t.Errorf("%s has no status subresource", kind)
		}
		conditions := schemaOf(crd).Properties["status"].Properties["conditions"]
		if conditions.XListType == nil || *conditions.XListType != "map" || !slices.Equal(conditions.XListMapKeys, []string{"type"}) {
			t.Errorf("%s: status.conditions is not a map by type: several writers would undo each other", kind)
		}
		u := object(t, kind, "claims", set("status", `{observedGeneration: 7}`))
		if err := api.client.Create(t.Context(), u, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if raw, _ := json.Marshal(u.Object["status"]); string(raw) != "null" {
			t.Errorf("%s: a manifest set status to %s", kind, raw)
		}
	}
}

// namespace makes a namespace for one test.
func namespace(t *testing.T) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetGenerateName("admission-")
	if err := api.client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u.GetName()
}
