package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func serverTool(name string) Tool {
	return Tool{Definition: Definition{Name: name, Parameters: object(nil)}, Handler: okHandler}
}

// T3, T11: the tools of a server's toolset are replaced as a whole; another toolset's stay, and one bad tool costs no other.
func TestT3Replace(t *testing.T) {
	s := newTestSet(t, nil)
	names := func() string {
		var out []string
		for _, d := range s.Definitions() {
			if strings.HasPrefix(d.Name, "x_") {
				out = append(out, d.Name)
			}
		}
		return strings.Join(out, " ")
	}
	before := len(s.Definitions())
	if err := s.Replace("mcp-x", []Tool{serverTool("x_b"), serverTool("x_a")}); err != nil || names() != "x_a x_b" {
		t.Errorf("%s %v", names(), err)
	}
	if err := s.Replace("mcp-y", []Tool{serverTool("x_c")}); err != nil || names() != "x_a x_b x_c" {
		t.Errorf("%s %v", names(), err)
	}
	bad := serverTool("x_bad")
	bad.Parameters = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": 5}}}
	err := s.Replace("mcp-x", []Tool{serverTool("x_a"), serverTool("x_c"), serverTool("read_file"), bad, serverTool("x_a"), serverTool("x_d")})
	if names() != "x_a x_c x_d" {
		t.Error(names())
	}
	for _, want := range []string{`"x_c" of toolset "mcp-x" is already provided by toolset "mcp-y"`, `"read_file" of toolset "mcp-x" is already`, `"x_bad" has an invalid schema`, `"x_a" is there twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err := s.Replace("mcp-x", nil); err != nil || names() != "x_c" {
		t.Errorf("%s %v", names(), err)
	}
	if err := s.Replace("mcp-y", nil); err != nil || len(s.Definitions()) != before {
		t.Errorf("%d tools, %v", len(s.Definitions()), err)
	}
}

// T16: a server's bare name selects its toolset, beside a toolset of that name; what is not selected says why.
func TestT16ServerSelected(t *testing.T) {
	for _, c := range []struct {
		want, disabled []string
		server, why    string
	}{
		{nil, nil, "git", ""},
		{[]string{"all"}, nil, "git", ""},
		{[]string{"file"}, nil, "git", "not named in toolsets: add mcp-git"},
		{[]string{"mcp-git"}, nil, "git", ""},
		{[]string{"git"}, nil, "git", ""},
		{[]string{"git"}, nil, "web", "not named in toolsets: add mcp-web"},
		{[]string{"web"}, nil, "web", ""},
		{nil, []string{"web"}, "web", "disabled by disabledToolsets"},
		{[]string{"git"}, []string{"mcp-git"}, "git", "disabled by disabledToolsets"},
		{[]string{"reading"}, nil, "git", ""},
	} {
		_, why, err := ServerSelected(Config{Toolsets: c.want, DisabledToolsets: c.disabled, Servers: []string{"git", "web"},
			CustomToolsets: map[string]CustomToolset{"reading": {Tools: []string{"mcp__git__log"}}}}, c.server, "mcp__"+c.server+"__")
		if err != nil || why != c.why {
			t.Errorf("%v without %v: %s: %q %v", c.want, c.disabled, c.server, why, err)
		}
	}
	web, err := selectConfigured(Config{Toolsets: []string{"web"}, Servers: []string{"web"}})
	if err != nil || !web.enabled("web", "web_fetch") || !web.enabled("mcp-web", "x") || web.enabled("file", "read_file") {
		t.Errorf("%+v %v", web, err)
	}
	if _, err := selectConfigured(Config{Toolsets: []string{"git"}}); err == nil {
		t.Error("a server that is not declared can be named")
	}
}

// G-346: a command is found as the child would find it, never where the agent can put one.
func TestG346FindProgram(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{filepath.Join(bin, "server"): 0o755, filepath.Join(bin, "data"): 0o644, filepath.Join(dir, "local"): 0o755} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	for _, c := range []struct{ name, path, want, says string }{
		{"server", bin, filepath.Join(bin, "server"), ""},
		{"server", "/nowhere", "", `no command "server" on the path /nowhere`},
		{"data", bin, "", "no command"},
		{"local", ".:" + bin, "", "no command"},
		{"local", ":" + bin, "", "no command"},
		{"./local", bin, filepath.Join(dir, "local"), ""},
		{filepath.Join(bin, "server"), "/nowhere", filepath.Join(bin, "server"), ""},
		{filepath.Join(bin, "data"), "", "", "is not an executable file"},
		{bin, "", "", "is not an executable file"},
		{"/no/such", "", "", "there is no command /no/such"},
		{"", bin, "", "there is no command"},
	} {
		got, err := findProgram(c.name, dir, []string{"PATH=/usr/bin", "PATH=" + c.path})
		if c.says == "" && (err != nil || got != c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s on %s: %q %v", c.name, c.path, got, err)
		}
	}
}

// What is no text is kept beside long results, and goes with them when there are too many.
func TestKeep(t *testing.T) {
	s := newTestSet(t, nil)
	first, err := s.Keep(".png", []byte("picture"))
	if err != nil || filepath.Ext(first) != ".png" {
		t.Fatalf("%s %v", first, err)
	}
	if raw, err := os.ReadFile(first); err != nil || string(raw) != "picture" {
		t.Errorf("%s %v", raw, err)
	}
	for range maxSpillFiles + 5 {
		if _, err := s.Keep(".bin", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(first))
	if err != nil || len(entries) > maxSpillFiles {
		t.Errorf("%d files are kept, %v", len(entries), err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() }) {
		t.Error("a directory among them")
	}
}
