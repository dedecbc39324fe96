package home

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func mustDeclare(t testing.TB, b Bundle) *Declaration {
	t.Helper()
	d, err := b.Declaration()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEffective_N21(t *testing.T) {
	type m = map[string]any
	declared := m{"approvals": m{"mode": "ask"}, "model": m{"provider": "custom", "base_url": "http://a"}, "memory": m{"user_char_limit": int64(5)}, "toolsets": []any{"file"}, "display": m{}}
	for name, c := range map[string]struct{ disk, want m }{
		"N-21 emptied":                    {nil, declared},
		"N-21 a declared value changed":   {m{"approvals": m{"mode": "allow"}, "model": m{"provider": "openai"}}, declared},
		"N-21 a rule nobody declared":     {m{"approvals": m{"mode": "ask", "allow": []any{"terminal"}}}, declared},
		"N-21 a section nobody declared":  {m{"mcp_servers": m{"x": m{"command": "sh"}}, "web": m{"allow_private": []any{"10.0.0.1"}}, "terminal": m{"cwd": "/"}}, declared},
		"N-21 a section of another shape": {m{"memory": "x", "approvals": []any{"allow"}}, declared},
		"N-21 other keys stay": {m{"memory": m{"other": int64(1)}, "x": true, "display": m{"k": int64(1)}}, m{
			"approvals": m{"mode": "ask"}, "model": m{"provider": "custom", "base_url": "http://a"}, "memory": m{"user_char_limit": int64(5), "other": int64(1)},
			"toolsets": []any{"file"}, "display": m{"k": int64(1)}, "x": true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := effective(c.disk, &Declaration{keys: declared})
			if !sameValue(got, c.want) || !reflect.DeepEqual(canonical(got), canonical(c.want)) {
				t.Errorf("%v\nwant %v", got, c.want)
			}
		})
	}
	disk := m{"approvals": m{"mode": "allow"}}
	if got := effective(disk, nil); !reflect.DeepEqual(got, disk) {
		t.Errorf("a home that nobody manages: %v", got)
	}
}

func askBundle() Bundle {
	b := testBundle("")
	b.Documents = nil
	b.Config = map[string]any{
		"approvals": map[string]any{"mode": "ask"}, "model": map[string]any{"default": "m", "context_window": int64(1000)}, "n": 1.0, "none": nil, "empty": map[string]any{},
		"list": []any{map[string]any{"a": uint64(1)}, 2.5}, "when": "2020-01-01",
	}
	return b
}

// What a command writes into config.yaml changes nothing that is declared, nor what decides, and is undone by a pass.
func TestView_DeclaredHolds_N21(t *testing.T) {
	root, b := t.TempDir(), askBundle()
	paths := mustMaterialise(t, root, b, options()).Paths
	clk := testclock.NewFakePassiveClock(time.Now())
	for name, v := range map[string]*View{"told": NewView(paths.Config(), clk), "recalled": NewView(paths.Config(), clk)} {
		mustMaterialise(t, root, b, options())
		if name == "told" {
			v.Declare(mustDeclare(t, b))
		}
		asks := Derive(v, func(c *Config, err error) bool { return err == nil && c.String("approvals", "mode") == "ask" })
		first, err := v.Read()
		if err != nil || first.String("approvals", "mode") != "ask" {
			t.Fatalf("%s: %v, %v", name, first, err)
		}
		for _, text := range []string{"approvals: {mode: allow, allow: [terminal]}\nmine: 1\n", "", "model: {base_url: http://evil}\n"} {
			mustWrite(t, paths.Config(), text)
			step(clk)
			c, err := v.Read()
			if err != nil || c.String("approvals", "mode") != "ask" || c.Strings("approvals", "allow") != nil || c.String("model", "default") != "m" || c.String("model", "base_url") != "" {
				t.Errorf("%s: after %q: %v, %v", name, text, c, err)
			}
			if !asks.Get() {
				t.Errorf("%s: a derived gate reads what is declared off the file after %q", name, text)
			}
			if again, _ := v.Read(); again != c {
				t.Errorf("%s: another object while nothing changes", name)
			}
		}
	}
	mustMaterialise(t, root, b, options())
	onDisk, err := ParseConfig([]byte(mustRead(t, paths.Config())))
	if err != nil || onDisk.String("approvals", "mode") != "ask" || onDisk.String("model", "base_url") != "http://evil" {
		t.Errorf("a pass must put back what is declared and leave the rest in the file: %v, %v", onDisk, err)
	}
}

// Before the API server is reached, a file that does not agree with the record is refused, until it does.
func TestView_DriftBeforeFirstContact_N21(t *testing.T) {
	root, b := t.TempDir(), askBundle()
	paths := mustMaterialise(t, root, b, options()).Paths
	good := mustRead(t, paths.Config())
	clk := testclock.NewFakePassiveClock(time.Now())
	for _, text := range []string{"approvals: {mode: allow}\n", "", string(good[:len(good)-len("when: \"2020-01-01\"\n")])} {
		mustWrite(t, paths.Config(), text)
		v := NewView(paths.Config(), clk)
		if _, err := v.Read(); !errors.Is(err, errDrifted) {
			t.Errorf("%q is taken: %v", text, err)
		}
		mustWrite(t, paths.Config(), string(good)+"mine: 1\n")
		step(clk)
		if c, err := v.Read(); err != nil || c.String("approvals", "mode") != "ask" {
			t.Errorf("put back: %v, %v", c, err)
		}
		mustWrite(t, paths.Config(), text)
		v = NewView(paths.Config(), clk)
		_ = v.Err()
		v.Declare(mustDeclare(t, b)) // the API server was reached
		if c, err := v.Read(); err != nil || c.String("approvals", "mode") != "ask" {
			t.Errorf("told after %q: %v, %v", text, c, err)
		}
	}
	recordPath := filepath.Join(paths.Home, recordName)
	mustMaterialise(t, root, b, options())
	mustWrite(t, paths.Config(), "approvals: {mode: allow}\n")
	for name, change := range map[string]func(*record){
		"without a seal": func(r *record) { r.ConfigSeal = "" },
		"without keys":   func(r *record) { r.ConfigKeys = nil },
		"not ours":       func(r *record) { r.Config.State = stateFound },
	} {
		r, err := readRecord(paths.Home)
		if err != nil {
			t.Fatal(err)
		}
		before := string(r.encode())
		change(r)
		mustWrite(t, recordPath, string(r.encode()))
		if err := NewView(paths.Config(), clk).Err(); !errors.Is(err, errDrifted) {
			t.Errorf("a record %s is believed: %v", name, err)
		}
		mustWrite(t, recordPath, before)
	}
	if err := os.Remove(recordPath); err != nil {
		t.Fatal(err)
	}
	if c, err := NewView(paths.Config(), clk).Read(); err != nil || c.String("approvals", "mode") != "allow" {
		t.Errorf("a home that nobody manages: %v, %v", c, err)
	}
}
