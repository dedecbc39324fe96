package home

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

func ptr[T any](v T) *T { return &v }

func fromSecret(name, key string) *v1alpha1.ValueSource {
	return &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: name, Key: key}}
}

func fromConfigMap(name, key string) *v1alpha1.ValueSource {
	return &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: key}}
}

func credential(name, key string) v1alpha1.ModelCredential {
	return v1alpha1.ModelCredential{SecretKeyRef: v1alpha1.SecretKeyRef{Name: name, Key: key}}
}

// fullProfile uses every field that reaches a home.
func fullProfile() *v1alpha1.Profile {
	return &v1alpha1.Profile{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice", UID: "u-1"},
		Spec: v1alpha1.ProfileSpec{
			GatewayRef: v1alpha1.GatewayRef{Name: "gw"},
			Model: v1alpha1.ModelSpec{
				Provider: "openai", Name: "gpt-5-mini", BaseURL: "https://api.example.com/v1", CacheTTL: "1h", ContextWindow: ptr(int64(200000)),
				Credentials: []v1alpha1.ModelCredential{credential("keys", "a"), credential("keys", "b")},
				Fallbacks: []v1alpha1.ModelFallback{{Provider: "custom", Name: "llama", BaseURL: "http://127.0.0.1:1/v1",
					Credentials: []v1alpha1.ModelCredential{credential("keys", "c"), credential("keys", "d")}}},
			},
			Identity:  &v1alpha1.IdentitySpec{Soul: ptr("I am Alice.\n")},
			HomeFiles: map[string]v1alpha1.FileSource{"memories/MEMORY.md": {Content: ptr("likes tea")}, "notes/a.txt": {From: fromConfigMap("cm", "note")}},
			Workspace: &v1alpha1.WorkspaceSpec{Directory: "/work/alice", Documents: map[string]v1alpha1.FileSource{"AGENTS.md": {Content: ptr("be brief")}}},
			EnvFrom:   []v1alpha1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &v1alpha1.LocalRef{Name: "cm"}}, {SecretRef: &v1alpha1.LocalRef{Name: "whole"}}},
			Env:       []v1alpha1.EnvVar{{Name: "PLAIN", Value: ptr("x y")}, {Name: "TOKEN", ValueFrom: fromSecret("keys", "tok")}},
			Toolsets:  []string{"file", "web"}, DisabledToolsets: []string{"terminal"}, Plugins: []string{"p1"}, Skills: []string{"s1"},
			MCPServers: map[string]v1alpha1.MCPServerSpec{
				"git-hub": {Command: "npx", Args: []string{"-y", "srv"}, Env: []v1alpha1.EnvVar{{Name: "GH_TOKEN", ValueFrom: fromSecret("keys", "gh")}, {Name: "MODE", Value: ptr("ro")}},
					Timeout: &metav1.Duration{Duration: 30 * time.Second}, Tools: &v1alpha1.ToolFilter{Include: []string{"list_*"}}},
				"remote": {URL: "https://mcp.example.com", Headers: []v1alpha1.HeaderSpec{{Name: "Authorization", ValueFrom: fromSecret("keys", "auth")}}, Disabled: true},
			},
			Cron:      &v1alpha1.CronSpec{MaxParallelJobs: ptr(int32(2)), Timezone: "Europe/Berlin", CatchUpMissed: ptr(false)},
			Approvals: v1alpha1.ApprovalsSpec{Mode: v1alpha1.ApprovalDeny, Allow: []string{"terminal:git status*"}},
			Peers:     &v1alpha1.PeersSpec{Allow: []string{"bob"}},
			Config:    &apiextensionsv1.JSON{Raw: []byte(`{"cron":{"output_retention":10},"compression":{"enabled":true,"ratio":0.5},"model":{"default":"gpt-5-mini"}}`)},
			Suspended: true,
		},
	}
}

func fullResolved() Resolved {
	return Resolved{
		Secrets: map[string]map[string][]byte{
			"keys":  {"a": []byte("sk-a\n"), "b": []byte("sk-b"), "c": []byte("sk-c"), "d": []byte("sk-d"), "tok": []byte("t'o\"k\n$x"), "gh": []byte("gh-secret\n"), "auth": []byte("Bearer secret-auth")},
			"whole": {"W1": []byte("w1"), "P_note": []byte("later")},
		},
		ConfigMaps: map[string]map[string][]byte{"cm": {"note": []byte("hello")}},
	}
}

func TestRender(t *testing.T) {
	b, err := Render(fullProfile(), fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	want := Bundle{
		Version: 1, Namespace: "team", Profile: "alice", Gateway: "gw", UID: "u-1", Suspended: true,
		Config: map[string]any{
			"model":              map[string]any{"default": "gpt-5-mini", "provider": "openai", "base_url": "https://api.example.com/v1", "context_window": int64(200000)},
			"fallback_providers": []any{map[string]any{"provider": "custom", "model": "llama", "base_url": "http://127.0.0.1:1/v1"}},
			"prompt_caching":     map[string]any{"cache_ttl": "1h"},
			"toolsets":           []any{"file", "web"}, "disabled_toolsets": []any{"terminal"},
			"plugins": map[string]any{"enabled": []any{"p1"}}, "skills": map[string]any{"enabled": []any{"s1"}},
			"mcp_servers": map[string]any{
				"git-hub": map[string]any{"enabled": true, "command": "npx", "args": []any{"-y", "srv"}, "timeout": int64(30),
					"tools": map[string]any{"include": []any{"list_*"}}, "env": map[string]any{"GH_TOKEN": "${HERMES_MCP_GIT_HUB_GH_TOKEN}", "MODE": "ro"}},
				"remote": map[string]any{"enabled": false, "url": "https://mcp.example.com", "headers": map[string]any{"Authorization": "${HERMES_MCP_REMOTE_AUTHORIZATION}"}},
			},
			"timezone": "Europe/Berlin", "cron": map[string]any{"max_parallel_jobs": int64(2), "catch_up_missed": false, "output_retention": int64(10)},
			"approvals":   map[string]any{"mode": "deny", "allow": []any{"terminal:git status*"}},
			"peers":       map[string]any{"allow": []any{"bob"}},
			"terminal":    map[string]any{"cwd": "/work/alice"},
			"compression": map[string]any{"enabled": true, "ratio": 0.5},
		},
		Env: []EnvEntry{{"P_note", "later"}, {"W1", "w1"}, {"PLAIN", "x y"}, {"TOKEN", "t'o\"k\n$x"},
			{"HERMES_MODEL_API_KEY", "sk-a"}, {"HERMES_MODEL_API_KEY_2", "sk-b"}, {"HERMES_FALLBACK_1_API_KEY", "sk-c"}, {"HERMES_FALLBACK_1_API_KEY_2", "sk-d"},
			{"HERMES_MCP_GIT_HUB_GH_TOKEN", "gh-secret"}, {"HERMES_MCP_REMOTE_AUTHORIZATION", "Bearer secret-auth"}},
		HomeFiles:          map[string][]byte{"SOUL.md": []byte("I am Alice.\n"), "memories/MEMORY.md": []byte("likes tea"), "notes/a.txt": []byte("hello")},
		WorkspaceDirectory: "/work/alice", Documents: map[string][]byte{"AGENTS.md": []byte("be brief")},
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	back, err := Decode(b.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, back); diff != "" || b.Hash() != back.Hash() {
		t.Errorf("decode(encode) differs: %s", diff)
	}
}

// No secret value ever stands in config.yaml (user pain 20, 56).
func TestRender_SecretsOnlyInEnv(t *testing.T) {
	in := fullResolved()
	b, err := Render(fullProfile(), in)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprint(b.Config)
	for _, data := range in.Secrets {
		for key, v := range data {
			if s := strings.TrimSpace(string(v)); strings.Contains(config, s) {
				t.Errorf("config.yaml holds the value of %s", key)
			}
		}
	}
}

// Property: rendering is a function, whatever order maps iterate in.
func TestRender_Deterministic(t *testing.T) {
	first, err := Render(fullProfile(), fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		again, err := Render(fullProfile(), fullResolved())
		if err != nil || !bytes.Equal(first.Encode(), again.Encode()) || first.Hash() != again.Hash() {
			t.Fatal("the same input gave other bytes")
		}
	}
}

// Every reference that References names is needed, and taking it away is reported and leaves no value behind.
func TestRender_MissingReferences(t *testing.T) {
	for _, ref := range References(fullProfile()) {
		for _, how := range []string{"object", "key", "empty"} {
			if ref.Key == "" && how == "key" {
				continue
			}
			in := fullResolved()
			objects := in.Secrets
			if ref.Kind == KindConfigMap {
				objects = in.ConfigMaps
			}
			switch {
			case how == "object":
				delete(objects, ref.Name)
			case ref.Key == "":
				objects[ref.Name] = map[string][]byte{}
			case how == "key":
				delete(objects[ref.Name], ref.Key)
			default:
				objects[ref.Name][ref.Key] = []byte{}
			}
			b, err := Render(fullProfile(), in)
			if err != nil {
				t.Fatalf("%s %s: %v", how, ref.Field, err)
			}
			want := MissingRef{Kind: ref.Kind, Name: ref.Name, Key: ref.Key, Field: ref.Field, NotFound: how == "object"}
			found := false
			for _, m := range b.Missing {
				found = found || m == want
			}
			if !found {
				t.Errorf("%s of %s gone: Missing = %v", how, ref.Field, b.Missing)
			}
		}
	}
	if got := len(References(fullProfile())); got != 10 {
		t.Errorf("%d references, want 10", got)
	}
}

// A missing explicit variable does not fall back to one of that name from envFrom (user pain 14, 15).
func TestRender_NoFallbackForMissing(t *testing.T) {
	p := fullProfile()
	p.Spec.Env = append(p.Spec.Env, v1alpha1.EnvVar{Name: "W1", ValueFrom: fromSecret("keys", "nope")})
	b, err := Render(p, fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Env {
		if e.Name == "W1" {
			t.Errorf("W1 fell back to %q", e.Value)
		}
	}
}

func TestRender_EnvFromCannotSetRuntimeNames(t *testing.T) {
	in := fullResolved()
	in.Secrets["whole"]["HERMES_MODEL_API_KEY"] = []byte("stolen")
	in.Secrets["whole"]["bad-name"] = []byte("x")
	in.Secrets["whole"]["BINARY"] = []byte{0xff, 0}
	p := fullProfile()
	p.Spec.Model.Credentials = nil
	b, err := Render(p, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Env {
		if e.Value == "stolen" || e.Name == "bad-name" || e.Name == "BINARY" {
			t.Errorf("%s reached .env", e.Name)
		}
	}
	if len(b.Ignored) != 3 {
		t.Errorf("Ignored = %v", b.Ignored)
	}
}

func TestRender_Refused(t *testing.T) {
	overlay := func(raw string) func(*v1alpha1.Profile) {
		return func(p *v1alpha1.Profile) { p.Spec.Config = &apiextensionsv1.JSON{Raw: []byte(raw)} }
	}
	file := func(path string) func(*v1alpha1.Profile) {
		return func(p *v1alpha1.Profile) {
			p.Spec.HomeFiles = map[string]v1alpha1.FileSource{path: {Content: ptr("x")}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Profile)
		reason string
		says   []string
	}{
		"typed key changed":   {overlay(`{"model":{"default":"other"}}`), v1alpha1.ReasonConfigInvalid, []string{"model.default", "spec.model.name"}},
		"typed object":        {overlay(`{"model":"other"}`), v1alpha1.ReasonConfigInvalid, []string{`"model"`, "spec.model."}},
		"typed list":          {overlay(`{"toolsets":["x"]}`), v1alpha1.ReasonConfigInvalid, []string{"spec.toolsets"}},
		"mcp server":          {overlay(`{"mcp_servers":{"remote":{"url":"http://evil"}}}`), v1alpha1.ReasonConfigInvalid, []string{"mcp_servers.remote.url", "spec.mcpServers[remote]"}},
		"not an object":       {overlay(`[1]`), v1alpha1.ReasonConfigInvalid, []string{"object"}},
		"not JSON":            {overlay(`{1:2}`), v1alpha1.ReasonConfigInvalid, []string{"spec.config"}},
		"empty key":           {overlay(`{"":1}`), v1alpha1.ReasonConfigInvalid, []string{"empty"}},
		"too deep":            {overlay(strings.Repeat(`{"a":[`, 33) + strings.Repeat("]}", 33)), v1alpha1.ReasonConfigInvalid, []string{"spec.config", "64 levels"}},
		"inline api_key":      {overlay(`{"x":{"api_key":"sk-1"}}`), v1alpha1.ReasonConfigInvalid, []string{"x.api_key", "env.valueFrom"}},
		"inline token":        {overlay(`{"slack_token":"xoxb"}`), v1alpha1.ReasonConfigInvalid, []string{"slack_token"}},
		"inline password":     {overlay(`{"l":[{"dbPassword":"p"}]}`), v1alpha1.ReasonConfigInvalid, []string{"dbPassword"}},
		"inline in list":      {overlay(`{"api_keys":["sk-1"]}`), v1alpha1.ReasonConfigInvalid, []string{"api_keys"}},
		"consent":             {overlay(`{"telemetry":{"shared_metrics":{"send":true}}}`), v1alpha1.ReasonConfigInvalid, []string{"MetricsConsent"}},
		"terminal not object": {overlay(`{"terminal":"x"}`), v1alpha1.ReasonConfigInvalid, []string{"terminal"}},
		"runtime variable":    {func(p *v1alpha1.Profile) { p.Spec.Env = []v1alpha1.EnvVar{{Name: "HERMES_HOME", Value: ptr("/")}} }, v1alpha1.ReasonConfigInvalid, []string{"HERMES_"}},
		"binary variable":     {func(p *v1alpha1.Profile) { p.Spec.Env = []v1alpha1.EnvVar{{Name: "X", Value: ptr("a\x00b")}} }, v1alpha1.ReasonConfigInvalid, []string{"homeFiles"}},
		"soul twice":          {file("SOUL.md"), v1alpha1.ReasonPathInvalid, []string{"spec.identity"}},
		"escape":              {file("a/../../x"), v1alpha1.ReasonPathInvalid, []string{".."}},
		"runtime file":        {file("config.yaml"), v1alpha1.ReasonPathInvalid, []string{"spec.config"}},
		"N-31 documents":      {func(p *v1alpha1.Profile) { p.Spec.Workspace.Directory = "" }, v1alpha1.ReasonPathInvalid, []string{"spec.workspace.directory", "spec.homeFiles"}},
		"file and directory": {func(p *v1alpha1.Profile) {
			p.Spec.HomeFiles = map[string]v1alpha1.FileSource{"a": {Content: ptr("x")}, "a/b": {Content: ptr("x")}}
		}, v1alpha1.ReasonPathInvalid, []string{"directory"}},
		"too large": {func(p *v1alpha1.Profile) {
			for i := range 5 {
				p.Spec.HomeFiles[fmt.Sprintf("big%d", i)] = v1alpha1.FileSource{Content: ptr(strings.Repeat("x", 256<<10))}
			}
		}, v1alpha1.ReasonHomeTooLarge, []string{"smaller"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := fullProfile()
			tc.change(p)
			_, err := Render(p, fullResolved())
			if err == nil {
				t.Fatal("accepted")
			}
			if got := Reason(err); got != tc.reason {
				t.Errorf("reason %s, want %s (%v)", got, tc.reason, err)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

func TestRender_OverlayAccepted(t *testing.T) {
	p := fullProfile()
	p.Spec.Config = &apiextensionsv1.JSON{Raw: []byte(`{"terminal":{"cwd":"/elsewhere","timeout":5},"x":{"api_key":"${X_KEY}","headers":{"Authorization":"Bearer ${T}"}},"agent":{"max_tokens":5},"big":18446744073709551615}`)}
	b, err := Render(p, fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := lookup(b.Config, "terminal", "cwd"); v != "/elsewhere" {
		t.Errorf("NA-17: terminal.cwd = %v", v)
	}
	if v, _ := lookup(b.Config, "big"); v != uint64(18446744073709551615) {
		t.Errorf("big = %v", v)
	}
	for _, raw := range []string{"", "null", "{}", strings.Repeat(`{"a":[`, 32) + strings.Repeat("]}", 32)} {
		p.Spec.Config = &apiextensionsv1.JSON{Raw: []byte(raw)}
		if _, err := Render(p, fullResolved()); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// Two servers whose names fold to one word keep two variables.
func TestRender_MCPVariableCollision(t *testing.T) {
	p := fullProfile()
	p.Spec.MCPServers = map[string]v1alpha1.MCPServerSpec{
		"a-b": {Command: "x", Env: []v1alpha1.EnvVar{{Name: "K", ValueFrom: fromSecret("keys", "a")}}},
		"a_b": {Command: "x", Env: []v1alpha1.EnvVar{{Name: "K", ValueFrom: fromSecret("keys", "b")}}},
	}
	b, err := Render(p, fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, e := range b.Env {
		values[e.Name] = e.Value
	}
	first, _ := lookup(b.Config, "mcp_servers", "a-b", "env", "K")
	second, _ := lookup(b.Config, "mcp_servers", "a_b", "env", "K")
	if values[strings.Trim(first.(string), "${}")] != "sk-a\n" && values[strings.Trim(first.(string), "${}")] != "sk-a" || values[strings.Trim(second.(string), "${}")] != "sk-b" {
		t.Errorf("%v %v %v", first, second, values)
	}
}

func TestCheckPaths(t *testing.T) {
	for _, p := range []string{"SOUL.md", "memories/MEMORY.md", "a/b/c.txt", "plugins/x/plugin.yaml", "..a", "a..b", "ünïcode.md", "my config.yaml"} {
		if err := CheckHomePath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{"", ".", "..", "/a", "a/", "a//b", "./a", "a/./b", "../a", "a/..", "a/../b", `a\b`, "a\x00", "a\nb", "\xff",
		"config.yaml", "Config.YAML", ".env", ".managed", "auth.json", "state.db", "state.db-wal", "gateway.pid", "gateway_state.json", "x.lock", "sub/y.sock",
		"profiles/a/SOUL.md", "cron/jobs.json", "profiles", "cron", ".hermes-managed.json", "config.yaml/x", "backups/x", "memories", strings.Repeat("x", 201)} {
		var invalid *ErrPathInvalid
		if err := CheckHomePath(p); !errors.As(err, &invalid) {
			t.Errorf("%q accepted", p)
		}
	}
	for _, p := range []string{"config.yaml", "cron/x"} { // a project's own file
		if err := CheckDocumentPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestDecode_Refuses(t *testing.T) {
	good := string(Bundle{Version: 1, Profile: "a", Namespace: "n"}.Encode())
	for name, data := range map[string]string{
		"empty":         "",
		"other version": `{"version":2,"namespace":"n","profile":"a","gateway":"g"}`,
		"unknown field": `{"version":1,"profile":"a","x":1}`,
		"trailing":      good + "{}",
		"escape":        `{"version":1,"profile":"a","homeFiles":{"../x":""}}`,
		"runtime file":  `{"version":1,"profile":"a","homeFiles":{".env":""}}`,
		"bad name":      `{"version":1,"profile":"../a"}`,
		"bad variable":  `{"version":1,"profile":"a","env":[{"name":"A B","value":""}]}`,
	} {
		if _, err := Decode([]byte(data)); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
	if _, err := Decode([]byte(good)); err != nil {
		t.Error(err)
	}
}

// Property: encode and decode are inverse for random declared config.
func TestBundle_RoundTripProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := Bundle{Version: 1, Profile: "a", Namespace: "n", Gateway: "g", Config: randomConfig(rng, 3)}
		back, err := Decode(b.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Config) > 0 && !reflect.DeepEqual(b.Config, back.Config) {
			t.Fatalf("%#v\n%#v", b.Config, back.Config)
		}
	}
}

func randomConfig(rng *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range rng.IntN(5) {
		m[fmt.Sprintf("k%d", rng.IntN(6))] = randomValue(rng, depth)
	}
	return m
}

func randomValue(rng *rand.Rand, depth int) any {
	n := rng.IntN(8)
	if depth == 0 {
		n = rng.IntN(6)
	}
	switch n {
	case 0:
		return rng.IntN(2) == 0
	case 1:
		return rng.Int64() - rng.Int64()
	case 2:
		return float64(rng.IntN(1000)) + 0.25
	case 3:
		return []string{"", "true", "1", "a: b", "# c", "multi\nline", " lead", "${X}", "null", "0x1f", "2026-11-29", "~", "é"}[rng.IntN(13)]
	case 4:
		return nil
	case 5:
		return []any{"a", int64(rng.IntN(3))}
	default:
		return randomConfig(rng, depth-1)
	}
}

func FuzzCheckHomePath(f *testing.F) {
	for _, s := range []string{"a", "a/b", "../a", "/x", "a/../b", ".env", "a\\b", "profiles/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if CheckHomePath(p) != nil {
			return
		}
		if strings.HasPrefix(p, "/") || strings.Contains("/"+p+"/", "/../") || strings.Contains(p, "\x00") || strings.HasPrefix(strings.ToLower(p), ".env") && len(p) == 4 {
			t.Errorf("%q accepted", p)
		}
	})
}

func FuzzDecode(f *testing.F) {
	b, err := Render(fullProfile(), fullResolved())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Encode())
	f.Add([]byte(`{"version":1,"profile":"a","config":{"a":1e400}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(b.Encode())
		if err != nil {
			t.Fatalf("decoded bundle does not decode again: %v", err)
		}
		if b.Hash() != again.Hash() {
			t.Fatal("hash is not stable")
		}
	})
}
