package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/controlplane"
	"hermes.dev/hermes/test/profilehome"
)

// hermesHere runs one command line in this process.
func hermesHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }, clock: clock.RealClock{}}
	code = run(t.Context(), c, args)
	return code, out.String(), errs.String()
}

// A home that nothing serves shows what its configuration selects, and what was allowed for always can be taken back.
func TestToolsOfAnUnservedHome(t *testing.T) {
	spec := profilehome.Demo()
	spec.Config["disabled_toolsets"] = []any{"web"}
	paths := profilehome.Write(t, t.TempDir(), "alice", spec)
	kept := tools.NewApprovals(filepath.Join(paths.Home, tools.ApprovalsFile), clock.RealClock{})
	if err := kept.Add("terminal", "make"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(paths.Home)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := hermesHere(t, "tools", "list", "--home", paths.Home)
	if code != 0 || !strings.Contains(out, "disabled by disabledToolsets") || !strings.Contains(out, "ALLOWED ALWAYS") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, _ = hermesHere(t, "tools", "list", "--home", paths.Home, "-o", "json")
	var o tools.Overview
	if err := json.Unmarshal([]byte(out), &o); code != 0 || err != nil || o.Served || len(o.Approvals) != 1 {
		t.Errorf("%d %v %+v", code, err, o)
	}
	if code, out, _ = hermesHere(t, "tools", "list", "--home", paths.Home, "-o", "name"); code != 0 || strings.Contains(out, "web\n") || !strings.Contains(out, "file\n") {
		t.Errorf("%d %s", code, out)
	}
	if code, out, _ = hermesHere(t, "tools", "show", "web_fetch", "--home", paths.Home); code != 0 || !strings.Contains(out, "covers this host") {
		t.Errorf("%d %s", code, out)
	}
	if code, _, errs = hermesHere(t, "tools", "show", "nothing", "--home", paths.Home); code != 2 || !strings.Contains(errs, "no toolset and no tool") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs = hermesHere(t, "tools", "list", "--home", t.TempDir()); code != 2 || !strings.Contains(errs, "no profile's home") {
		t.Errorf("%d %s", code, errs)
	}
	after, err := os.ReadDir(paths.Home)
	if err != nil || len(after) != len(before) {
		t.Errorf("looking changed the home: %v, %v", after, err)
	}
	if code, _, errs = hermesHere(t, "tools", "revoke", o.Approvals[0].ID, "--home", paths.Home); code != 0 || len(tools.NewApprovals(filepath.Join(paths.Home, tools.ApprovalsFile), clock.RealClock{}).List()) != 0 {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, _ = hermesHere(t, "tools", "revoke", "none", "--home", paths.Home); code != 2 {
		t.Errorf("revoking nothing ends with %d", code)
	}
	if code, out, errs = hermesHere(t, "tools", "revoke", "all", "--home", paths.Home); code != 0 || !strings.Contains(out, "nothing was allowed") {
		t.Errorf("revoking all of nothing: %d %s%s", code, out, errs)
	}
}

// enable and disable own the entries they add, and never touch those of a manifest.
func TestToolsEnableAndDisable(t *testing.T) {
	env, err := controlplane.StartForSuite()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := kube.HermesClient(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	manifest := `{"apiVersion":"hermes.dev/v1alpha1","kind":"Profile","metadata":{"name":"alice","namespace":"default"},"spec":{"model":{"provider":"demo"},"disabledToolsets":["terminal"]}}`
	err = api.Patch(types.ApplyPatchType).Namespace("default").Resource("profiles").Name("alice").
		VersionedParams(&metav1.PatchOptions{FieldManager: "hermes", Force: ptr.To(true)}, metav1.ParameterCodec).Body([]byte(manifest)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args              string
		code              int
		says              string
		toolsets, disable string
	}{
		{"disable web -p alice", 0, "profile/alice: toolset web disabled", "", "terminal web"},
		{"disable web", 0, "is disabled already", "", "terminal web"},
		{"disable memory todo", 0, "toolset todo disabled", "", "memory terminal todo web"},
		{"enable web", 0, "toolset web enabled", "", "memory terminal todo"},
		{"enable terminal", 1, "by field manager hermes: take it out", "", "memory terminal todo"},
		{"enable memory todo", 0, "toolset todo enabled", "", "terminal"},
		{"enable kanban", 0, "toolset kanban enabled", "all kanban", "terminal"},
		{"disable wbe", 2, "unknown toolset", "all kanban", "terminal"},
		{"disable browser nosuch", 2, "unknown toolset", "all kanban", "terminal"},
		{"enable browser terminal", 1, "by field manager hermes", "all kanban", "terminal"},
		{"disable web -p bob", 2, `no Profile "bob"`, "all kanban", "terminal"},
	} {
		args := append([]string{"tools"}, strings.Fields(step.args)...)
		code, out, errs := hermesHere(t, append(args, "--kubeconfig", env.Kubeconfig, "--data", t.TempDir())...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("%s = %d, %s%s", step.args, code, out, errs)
		}
		p := &v1alpha1.Profile{}
		if err := api.Get().Namespace("default").Resource("profiles").Name("alice").Do(t.Context()).Into(p); err != nil {
			t.Fatal(err)
		}
		slices.Sort(p.Spec.Toolsets)
		slices.Sort(p.Spec.DisabledToolsets)
		if strings.Join(p.Spec.Toolsets, " ") != step.toolsets || strings.Join(p.Spec.DisabledToolsets, " ") != step.disable {
			t.Errorf("after %s: %v, %v", step.args, p.Spec.Toolsets, p.Spec.DisabledToolsets)
		}
	}
}
