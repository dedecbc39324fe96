package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseProfileName_T003_G110_G111(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		bad      bool
	}{
		{in: "Coder ", want: "coder"},
		{in: "DEFAULT", want: "default"},
		{in: "a_b-1", want: "a_b-1"},
		{in: "-x", bad: true},
		{in: strings.Repeat("a", 64), want: strings.Repeat("a", 64)},
		{in: strings.Repeat("a", 65), bad: true},
		{in: "", bad: true},
		{in: "  ", bad: true},
		{in: "../x", bad: true},
		{in: "a/b", bad: true},
		{in: "hermes", want: "hermes"}, // an existing directory with a reserved name resolves
	} {
		got, err := ParseProfileName(tc.in)
		if (err != nil) != tc.bad || got != tc.want {
			t.Errorf("ParseProfileName(%q) = %q, %v", tc.in, got, err)
		}
	}
	for _, name := range []string{"hermes", "Default", "test", "tmp", "root", "sudo"} {
		if _, err := ParseNewProfileName(name); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("ParseNewProfileName(%q) = %v, want reserved", name, err)
		}
	}
	if _, err := ParseNewProfileName("work"); err != nil {
		t.Error(err)
	}
}

func TestSessionNamespace_G117(t *testing.T) {
	for name, want := range map[string]string{"default": "agent:main", "work": "agent:work", "main": "agent:main~"} {
		if got := SessionNamespace(name); got != want {
			t.Errorf("SessionNamespace(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestResolve_G101_G106_T002(t *testing.T) {
	for name, tc := range map[string]struct {
		env                               Environment
		effective, process, root, profile string
	}{
		"platform default":   {env: Environment{UserHome: "/u", GOOS: "linux"}, effective: "/u/.hermes", process: "/u/.hermes", root: "/u/.hermes", profile: "default"},
		"T-002 own root":     {env: Environment{HermesHome: " /data ", UserHome: "/u", GOOS: "linux"}, effective: "/data", process: "/data", root: "/data", profile: "default"},
		"G-102 named":        {env: Environment{HermesHome: "/x/profiles/work", GOOS: "linux"}, effective: "/x/profiles/work", process: "/x/profiles/work", root: "/x", profile: "work"},
		"G-102 invalid name": {env: Environment{HermesHome: "/x/profiles/No Name", GOOS: "linux"}, effective: "/x/profiles/No Name", process: "/x/profiles/No Name", root: "/x/profiles/No Name", profile: "default"},
		"G-103 override":     {env: Environment{Override: "/x/profiles/a", HermesHome: "/x", GOOS: "linux"}, effective: "/x/profiles/a", process: "/x", root: "/x/profiles/a", profile: "a"},
		"blank variable":     {env: Environment{HermesHome: "  ", UserHome: "/u", GOOS: "linux"}, effective: "/u/.hermes", process: "/u/.hermes", root: "/u/.hermes", profile: "default"},
		"tilde":              {env: Environment{HermesHome: "~/h", UserHome: "/u", GOOS: "linux"}, effective: "/u/h", process: "/u/h", root: "/u/h", profile: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := EffectiveHome(tc.env)
			if err != nil || effective != tc.effective {
				t.Errorf("effective %q, %v", effective, err)
			}
			process, err := ProcessHome(tc.env)
			if err != nil || process != tc.process {
				t.Errorf("process %q, %v", process, err)
			}
			if name == "G-103 override" {
				tc.root = "/x"
			}
			if got := RootOf(effective); got != tc.root {
				t.Errorf("root %q, want %q", got, tc.root)
			}
			if got := NameOf(effective); got != tc.profile {
				t.Errorf("name %q, want %q", got, tc.profile)
			}
		})
	}
	if _, err := ProcessHome(Environment{GOOS: "linux"}); !errors.Is(err, ErrNoHome) {
		t.Errorf("no home: %v", err)
	}
}

func TestKeyAndSame_G104_G105(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "Real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	linux := Environment{GOOS: "linux"}
	if !Same(real, link, linux) || Same(real, dir, linux) {
		t.Error("symlinks are not resolved")
	}
	folding := Environment{GOOS: "darwin"}
	if Same("/nowhere/A", "/nowhere/a", linux) || !Same("/nowhere/A", "/nowhere/a", folding) {
		t.Error("case rules of the host are not used")
	}
}

func TestList_T004_G112(t *testing.T) {
	root := t.TempDir()
	put := func(rel, content string) {
		path := filepath.Join(root, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("config.yaml", "")
	put("profiles/work/SOUL.md", "")
	put("profiles/alice/.env", "")
	put("profiles/ghost/cron/jobs.json", "{}")
	put("profiles/default/config.yaml", "")
	put("profiles/Bad Name/config.yaml", "")
	put("profiles/gone/config.yaml", "")
	put("profiles/gone/"+tombstoneName, "")
	got, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got {
		names = append(names, p.Name)
	}
	if want := "default alice work"; strings.Join(names, " ") != want {
		t.Errorf("List = %v, want %v", names, want)
	}
}

func TestEnsureDir_G113(t *testing.T) {
	root := t.TempDir()
	gone, _ := ForProfile(root, "gone")
	if err := EnsureDir(gone, "cron/output"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing named home: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, profilesDir)); err == nil {
		t.Error("a deleted profile came back")
	}
	if err := os.MkdirAll(gone.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := EnsureDir(gone, "cron/output"); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(filepath.Join(gone.Home, "cron/output")); err != nil || !fi.IsDir() {
		t.Error("cron/output is not there")
	}
	def, _ := ForProfile(filepath.Join(root, "new"), "Default")
	if err := EnsureDir(def, "cron"); err != nil {
		t.Error(err)
	}
}

func TestManaged_NA19_NA20_NA21_N34(t *testing.T) {
	for _, tc := range []struct {
		rule, variable string
		marker         Marker
		want           string
	}{
		{rule: "NA-19", variable: "nixos", want: "nixos"},
		{rule: "NA-19", variable: "home-manager", want: "home-manager"},
		{rule: "NA-19", variable: " HOME-MANAGER\n", want: "home-manager"},
		{rule: "NA-19", variable: "true", want: "nixos"},
		{rule: "NA-19", variable: "1", want: "nixos"},
		{rule: "NA-19", variable: "yes", want: "nixos"},
		{rule: "NA-19", variable: "brew"},
		{rule: "NA-19", variable: "homebrew"},
		{rule: "NA-19", variable: "false"},
		{rule: "NA-19", variable: "off"},
		{rule: "NA-19"},
		{rule: "NA-20", marker: Marker{Present: true, Text: "home-manager\n"}, want: "home-manager"},
		{rule: "NA-20", marker: Marker{Present: true, Text: "nixos"}, want: "nixos"},
		{rule: "NA-20", marker: Marker{Present: true}, want: "nixos"},
		{rule: "NA-20", marker: Marker{Present: true, Unreadable: true}, want: "nixos"},
		{rule: "NA-20", marker: Marker{Present: true, Text: "hermes-operator\n"}, want: ManagedOperator},
		{rule: "NA-21", variable: "home-manager", marker: Marker{Present: true, Text: "nixos"}, want: "home-manager"},
		{rule: "NA-21", variable: "false", marker: Marker{Present: true, Text: "nixos"}},
	} {
		if got := Managed(tc.variable, tc.marker); got != tc.want {
			t.Errorf("%s: Managed(%q, %+v) = %q, want %q", tc.rule, tc.variable, tc.marker, got, tc.want)
		}
	}
	dir := t.TempDir()
	if m := ReadMarker(dir); m.Present {
		t.Error("absent marker is present")
	}
	if err := os.Mkdir(filepath.Join(dir, managedName), 0o700); err != nil {
		t.Fatal(err)
	}
	if m := ReadMarker(dir); !m.Present || !m.Unreadable {
		t.Errorf("a marker that cannot be read: %+v", m)
	}
}
