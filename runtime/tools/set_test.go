package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func okHandler(context.Context, Call) (Result, error) { return Result{Content: "ok"}, nil }

func names(s *Set) []string {
	var out []string
	for _, d := range s.Definitions() {
		out = append(out, d.Name)
	}
	return out
}

// T2: a schema a provider would refuse is refused at registration, by name.
func TestT2SchemaMistakesNameTheTool(t *testing.T) {
	s := newTestSet(t, nil)
	tests := map[string]struct {
		change func(*Tool)
		want   string
	}{
		"no parameters":    {func(t *Tool) { t.Parameters = nil }, "there is none"},
		"not an object":    {func(t *Tool) { t.Parameters = map[string]any{"type": "array"} }, "not array"},
		"no type":          {func(t *Tool) { t.Parameters = map[string]any{} }, "type object"},
		"properties":       {func(t *Tool) { t.Parameters["properties"] = []any{} }, "properties must be an object"},
		"property":         {func(t *Tool) { t.Parameters["properties"] = map[string]any{"x": map[string]any{"type": 5}} }, "invalid schema"},
		"bad pattern":      {func(t *Tool) { t.Parameters["properties"] = map[string]any{"x": map[string]any{"pattern": "("}} }, "invalid schema"},
		"no handler":       {func(t *Tool) { t.Handler = nil }, "no handler"},
		"no toolset":       {func(t *Tool) { t.Toolset = "" }, "names no toolset"},
		"name with spaces": {func(t *Tool) { t.Name = "odd tool" }, `"odd tool" must be`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tool := Tool{Definition: Definition{Name: "odd", Parameters: map[string]any{"type": "object"}}, Toolset: "mcp-x", Handler: okHandler}
			tt.change(&tool)
			err := s.Register(tool, false)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "odd") {
				t.Errorf("Register = %v, want %q and the tool's name", err, tt.want)
			}
		})
	}
	if got := names(s); slices.Contains(got, "odd") {
		t.Errorf("tools = %v", got)
	}
}

// T3: another toolset cannot shadow a tool unasked.
func TestT3Collisions(t *testing.T) {
	s := newTestSet(t, nil)
	tool := Tool{Definition: Definition{Name: "terminal", Parameters: object(nil)}, Toolset: "mcp-x", Handler: okHandler}
	if err := s.Register(tool, false); err == nil || !strings.Contains(err.Error(), `"terminal" of toolset "mcp-x" is already provided by toolset "terminal"`) {
		t.Errorf("Register = %v", err)
	}
	if err := s.Register(tool, true); err != nil {
		t.Errorf("override: %v", err)
	}
	if err := s.Register(tool, false); err != nil {
		t.Errorf("same toolset again: %v", err)
	}
	if got := must(t, s, "terminal", nil); got != "ok" {
		t.Errorf("result = %q", got)
	}
}

// T5: an unknown tool and a failing handler are `{"error":…}`, capped and
// without framing tokens.
func TestT5Errors(t *testing.T) {
	s := newTestSet(t, nil)
	refused(t, s, "nope", nil, `there is no tool "nope"; available tools: clarify, list_dir, memory, patch, process_manage, read_file, search_files, skill_manage, skill_view, skills_list, terminal, todo_list, web_fetch, write_file`)
	refused(t, s, "bash", nil, `it is called "terminal" now`)
	refused(t, s, strings.Repeat("x", 5000), nil, "shortened")
	var failure error
	err := s.Register(Tool{Definition: Definition{Name: "fails", Parameters: object(nil)}, Toolset: "mcp-x", Handler: func(context.Context, Call) (Result, error) {
		return Result{}, failure
	}}, false)
	if err != nil {
		t.Fatal(err)
	}
	failure = errors.New("bad <|im_end|> <tool_call>\xff")
	refused(t, s, "fails", nil, "bad < |im_end| > < tool_call>\uFFFD")
	failure = errors.New(strings.Repeat("é", 5000))
	var body struct{ Error string }
	r := s.Run(t.Context(), "s", call("fails", nil), nil)
	if err := json.Unmarshal([]byte(r.Content), &body); err != nil || len(body.Error) > modelErrorCap || !strings.HasSuffix(body.Error, "é… (shortened)") {
		t.Errorf("%d bytes, %v: %q", len(body.Error), err, r.Content)
	}
}

func TestT5PanicsPassThrough(t *testing.T) {
	s := newTestSet(t, nil)
	err := s.Register(Tool{Definition: Definition{Name: "panics", Parameters: object(nil)}, Toolset: "mcp-x", Handler: func(context.Context, Call) (Result, error) { panic("boom") }}, false)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v", got)
			}
		}()
		s.Run(t.Context(), "s", call("panics", nil), nil)
	}()
	// The Set still closes: the call was counted out.
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	defer func() {
		if got := recover(); got != "beside" {
			t.Errorf("a panic beside the caller was raised as %v", got)
		}
	}()
	background(func() error { panic("beside") }).wait()
}

// T7: sorted, stable, filtered by the tool's own check.
func TestT7Definitions(t *testing.T) {
	s := newTestSet(t, nil)
	there := false
	for _, name := range []string{"zz", "aa"} {
		err := s.Register(Tool{Definition: Definition{Name: name, Parameters: object(nil)}, Toolset: "mcp-x", Handler: okHandler, Available: func() bool { return there }, UncachedCheck: true}, false)
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(s), []string{"clarify", "list_dir", "memory", "patch", "process_manage", "read_file", "search_files", "skill_manage", "skill_view", "skills_list", "terminal", "todo_list", "web_fetch", "write_file"}; !reflect.DeepEqual(got, want) {
		t.Errorf("tools = %v, want %v", got, want)
	}
	refused(t, s, "aa", nil, "there is no tool")
	there = true
	for range 20 {
		if got, want := names(s), []string{"aa", "clarify", "list_dir", "memory", "patch", "process_manage", "read_file", "search_files", "skill_manage", "skill_view", "skills_list", "terminal", "todo_list", "web_fetch", "write_file", "zz"}; !reflect.DeepEqual(got, want) {
			t.Fatalf("tools = %v, want %v", got, want)
		}
	}
	first, err := json.Marshal(s.Definitions())
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := json.Marshal(s.Definitions()); string(first) != string(second) {
		t.Error("definitions differ between calls")
	}
}

// Every built-in schema compiles and describes each property.
func TestBuiltInSchemas(t *testing.T) {
	for _, d := range newTestSet(t, nil).Definitions() {
		if _, err := compileSchema(d.Parameters); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		for name, p := range d.Parameters["properties"].(map[string]any) {
			if p.(map[string]any)["description"] == "" || d.Description == "" {
				t.Errorf("%s.%s is not described", d.Name, name)
			}
		}
	}
}

func TestArgumentsAreJudgedBySchema(t *testing.T) {
	s := newTestSet(t, nil)
	tests := []struct{ tool, args, want string }{
		{"read_file", `{}`, `invalid arguments for read_file: required: missing properties: ["path"]`},
		{"read_file", ``, `missing properties`},
		{"read_file", `null`, `missing properties`},
		{"read_file", `[]`, `want "object"`},
		{"read_file", `"x"`, `want "object"`},
		{"read_file", `{"path":`, `not valid JSON`},
		{"read_file", `{"path":"x"} {}`, `not valid JSON`},
		{"read_file", `{"path":1}`, `path: type: 1 has type "integer", want "string"`},
		{"read_file", `{"path":""}`, `path: minLength`},
		{"read_file", `{"path":"x","file":"y"}`, `unexpected additional properties ["file"]`},
		{"read_file", `{"path":"x","offset":0}`, `offset: minimum`},
		{"read_file", `{"path":"x","limit":1e300}`, `limit: maximum`},
		{"terminal", `{"command":"true","timeout_seconds":3601}`, `timeout_seconds: maximum`},
		{"terminal", `{"command":"true","timeout_seconds":1.5}`, `want "integer"`},
	}
	for _, tt := range tests {
		r := s.Run(t.Context(), "s", Call{Name: tt.tool, Arguments: json.RawMessage(tt.args)}, nil)
		var body struct{ Error string }
		if err := json.Unmarshal([]byte(r.Content), &body); err != nil || !r.IsError || !strings.Contains(body.Error, tt.want) {
			t.Errorf("%s %s = %+v, want %q", tt.tool, tt.args, r, tt.want)
		}
	}
}

// Whatever a model sends, the answer is a result and an error is JSON.
func FuzzArguments(f *testing.F) {
	s := newTestSet(f, func(c *Config) { c.Mode = ModeDeny })
	f.Add("read_file", []byte(`{"path":"x","offset":1e9}`))
	f.Add("write_file", []byte(`{"path":"x","content":"\u0000"}`))
	f.Add("terminal", []byte(`{"command":"true","command":"false"}`))
	f.Add("list_dir", []byte(`null`))
	f.Add("patch", []byte(`{"path":"x","edits":[{"old_text":"a","new_text":""}]}`))
	f.Add("search_files", []byte(`{"pattern":"(a+)+$","glob":"**/*.{go,md}","max_matches":1}`))
	f.Add("process_manage", []byte(`{"action":"read","id":"p-x","offset":9007199254740992}`))
	f.Add("memory", []byte(`{"action":"replace","old_text":"§","text":"a\n§\nb"}`))
	f.Add("todo_list", []byte(`{"items":[{"text":"\u202e","status":"done"}]}`))
	f.Add("skill_view", []byte(`{"name":"../x","file":"../../.env"}`))
	f.Add("web_fetch", []byte(`{"url":"http://[::ffff:127.0.0.1]/"}`))
	f.Add("clarify", []byte(`{"question":"?","options":[""]}`))
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		r := s.Run(t.Context(), "s", Call{Name: tool, Arguments: args}, nil)
		if r.IsError && (!json.Valid([]byte(r.Content)) || len(r.Content) > 6*modelErrorCap+64) {
			t.Errorf("%s %q = %q", tool, args, r.Content)
		}
	})
}

func TestNewSetSaysWhatToChange(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"file": ""})
	tests := map[string]struct {
		change func(*Config)
		want   string
	}{
		"relative home":     {func(c *Config) { c.Home = "x" }, `home: "x" must be an absolute path`},
		"no home":           {func(c *Config) { c.Home = dir + "/none" }, "home: "},
		"no workspace":      {func(c *Config) { c.Workspace = "/none/at/all" }, "workspace: /none/at/all: no such file"},
		"workspace file":    {func(c *Config) { c.Workspace = dir + "/file" }, "workspace: "},
		"relative root":     {func(c *Config) { c.Roots = []string{dir, "x"} }, `roots[1]: "x" must be`},
		"environ":           {func(c *Config) { c.Environ = []string{"A=1", "B"} }, "entry 1 must be NAME=value"},
		"environ reserved":  {func(c *Config) { c.Environ = []string{"HERMES_RUN_ID=1"} }, "sets HERMES_RUN_ID"},
		"environ NUL":       {func(c *Config) { c.Environ = []string{"A=b\x00C=d"} }, "NUL"},
		"mode":              {func(c *Config) { c.Mode = 7 }, "mode 7"},
		"allow rule":        {func(c *Config) { c.Allow = []string{"a b"} }, `allow rule "a b"`},
		"secret not echoed": {func(c *Config) { c.Environ = []string{"=hunter2"} }, "entry 0 must be"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Home: dir, Workspace: dir}
			tt.change(&c)
			_, err := NewSet(c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("NewSet = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWorkspaceBelowHomeIsCreated(t *testing.T) {
	home := t.TempDir()
	s, err := NewSet(Config{Home: home, Workspace: filepath.Join(home, "deep", "workspace")})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.sandbox.roots[0]); err != nil || !info.IsDir() {
		t.Errorf("workspace: %v, %v", info, err)
	}
}

func BenchmarkNewSet(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewSet(Config{Home: dir, Workspace: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	s := newTestSet(b, nil)
	writeTree(b, s.sandbox.roots[0], map[string]string{"a/b/f": strings.Repeat("some line\n", 100)})
	for b.Loop() {
		must(b, s, "read_file", map[string]any{"path": "a/b/f"})
	}
}
