package toolview

import (
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// declared is what one manager declares, as managed fields show it.
func declared(manager, toolsets, disabled string) metav1.ManagedFieldsEntry {
	entries := func(names string) string {
		var out []string
		for _, n := range strings.Fields(names) {
			out = append(out, `"v:\"`+n+`\"":{}`)
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	raw := `{"f:spec":{"f:suspended":{},"f:toolsets":` + entries(toolsets) + `,"f:disabledToolsets":` + entries(disabled) + `}}`
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(raw)}
}

func TestToggle(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		theirsOn, theirsOff      string
		oursOn, oursOff          string
		verb, toolset            string
		wantOn, wantOff, wantErr string
		changed                  bool
	}{
		{name: "disable", verb: "disable", toolset: "web", wantOff: "web", changed: true},
		{name: "disable keeps what is ours", oursOff: "terminal", verb: "disable", toolset: "web", wantOff: "terminal web", changed: true},
		{name: "disable what is disabled by another", theirsOff: "web", verb: "disable", toolset: "web"},
		{name: "disable what we enabled", theirsOn: "file", oursOn: "web", verb: "disable", toolset: "web", wantOff: "web", changed: true},
		{name: "enable what we disabled", oursOff: "terminal web", verb: "enable", toolset: "web", wantOff: "terminal", changed: true},
		{name: "enable what another disabled", theirsOff: "web", verb: "enable", toolset: "web", wantErr: `"web" stands in spec.disabledToolsets of profile alice by field manager theirs`},
		{name: "enable what both disabled", theirsOff: "web", oursOff: "web", verb: "enable", toolset: "web", wantErr: "by field manager theirs"},
		{name: "enable what is on by default", verb: "enable", toolset: "web"},
		{name: "enable an opt-in one", verb: "enable", toolset: "kanban", wantOn: "all kanban", changed: true},
		{name: "enable an opt-in one beside all", theirsOn: "all", verb: "enable", toolset: "kanban", wantOn: "kanban", changed: true},
		{name: "enable beside a list of another", theirsOn: "file", verb: "enable", toolset: "web", wantOn: "web", changed: true},
		{name: "enable what is named", theirsOn: "web", verb: "enable", toolset: "web"},
		{name: "enable what we disabled beside a list", theirsOn: "file", oursOff: "web", verb: "enable", toolset: "web", wantOn: "web", changed: true},
	} {
		t.Run("T13 "+tt.name, func(t *testing.T) {
			p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "alice", Namespace: "default", UID: "u1"}}
			p.ManagedFields = []metav1.ManagedFieldsEntry{declared("theirs", tt.theirsOn, tt.theirsOff), declared(FieldManager, tt.oursOn, tt.oursOff)}
			p.Spec.Toolsets = strings.Fields(tt.theirsOn + " " + tt.oursOn)
			p.Spec.DisabledToolsets = strings.Fields(tt.theirsOff + " " + tt.oursOff)
			decide := Enable
			if tt.verb == "disable" {
				decide = Disable
			}
			got, err := decide(p, tt.toolset)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("%v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || got.Changed != tt.changed {
				t.Fatalf("%+v, %v", got, err)
			}
			if tt.changed && (strings.Join(got.Own.Toolsets, " ") != tt.wantOn || strings.Join(got.Own.Disabled, " ") != tt.wantOff) {
				t.Errorf("declares %+v, want %q and %q", got.Own, tt.wantOn, tt.wantOff)
			}
		})
	}
}

func TestDeclaration(t *testing.T) {
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "alice", Namespace: "work", UID: "u1"}}
	identity := map[string]any{"name": "alice", "namespace": "work", "uid": "u1"}
	want := map[string]any{"apiVersion": "hermes.dev/v1alpha1", "kind": "Profile", "metadata": identity}
	if got := (Change{}).Declaration(p); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	want["spec"] = map[string]any{"disabledToolsets": []string{"web"}}
	if got := (Change{Own: Lists{Disabled: []string{"web"}}}).Declaration(p); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestCheckName(t *testing.T) {
	p := &v1alpha1.Profile{}
	p.Spec.Config = &apiextensionsv1.JSON{Raw: []byte(`{"custom_toolsets":{"mine":{"tools":["read_file"]}}}`)}
	p.Spec.MCPServers = map[string]v1alpha1.MCPServerSpec{"git": {Command: "x"}}
	for name, ok := range map[string]bool{"web": true, "git": true, "mine": true, "mcp-x": true, "wbe": false} {
		if err := CheckName(p, name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
