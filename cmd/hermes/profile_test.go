package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/profilehome"
	"hermes.dev/hermes/test/pythonhome"
)

// pythonHome is a home of a Python agent that was killed, and what its store holds.
func pythonHome(t *testing.T) (string, pythonhome.StoreCounts) {
	t.Helper()
	dir := t.TempDir()
	pythonhome.Write(t, dir)
	w, counts := pythonhome.OpenStore(t, dir, 30)
	w.LeaveLog(t, dir)
	return dir, counts
}

// everything is every file below a directory with its mode, time and content.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %s %s", path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %x", sha256.Sum256(data))
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func succeeds(t *testing.T, args ...string) result {
	t.Helper()
	r := runHere(t, map[string]string{"HOME": t.TempDir()}, args...)
	if r.code != 0 {
		t.Fatal(r)
	}
	return r
}

// TestImportDryRun says what there is and changes nothing anywhere.
func TestImportDryRun(t *testing.T) {
	source, counts := pythonHome(t)
	before := everything(t, source)
	manifest := filepath.Join(t.TempDir(), "ada.yaml")
	r := succeeds(t, "profile", "import", source, "--name", "ada", "-o", manifest)
	if err := contains(r, "WOULD BE IMPORTED", fmt.Sprint(counts.Sessions), manifest+" was written and nothing else was changed", "my_own_plugin"); err != nil {
		t.Error(err)
	}
	if err := contains(succeeds(t, "profile", "import", source), "nothing was changed: add --apply"); err != nil {
		t.Error(err)
	}
	if everything(t, source) != before {
		t.Error("the source changed")
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range pythonhome.Secrets {
		if strings.Contains(string(text)+r.stdout+r.stderr, secret) {
			t.Errorf("%s was written", secret)
		}
	}
	if err := os.Chmod(manifest, 0o644); err != nil { // an older file that others may read
		t.Fatal(err)
	}
	succeeds(t, "profile", "import", source, "--name", "ada", "-o", manifest, "--with-secrets")
	info, err := os.Stat(manifest)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a manifest with secrets has mode %v: %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(manifest); !strings.Contains(string(text), "tg-bot-secret") {
		t.Error("--with-secrets left them out")
	}
}

// TestImportBackupRestoreOffline: a home without a control plane, from the import to a restore.
func TestImportBackupRestoreOffline(t *testing.T) {
	source, counts := pythonHome(t)
	before := everything(t, source)
	home := profilehome.Write(t, t.TempDir(), "ada", profilehome.Demo()).Home
	r := succeeds(t, "profile", "import", source, "--home", home)
	if err := contains(r, "→ profile ada", "IMPORTED", "not imported into a home"); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"settings  ", "cron jobs  ", "variables  ", "my_own_plugin", "runs twice", "nothing"} {
		if strings.Contains(r.stdout, other) {
			t.Errorf("%q was not imported and is in\n%s", other, r.stdout)
		}
	}
	if everything(t, source) != before {
		t.Error("the source changed")
	}
	if data, err := os.ReadFile(filepath.Join(home, "memories", "USER.md")); err != nil || string(data) != "Name: Ada" {
		t.Errorf("memories: %q %v", data, err)
	}
	var made localapi.BackupInfo
	if err := json.Unmarshal([]byte(succeeds(t, "profile", "backup", "--home", home, "-o", "json").stdout), &made); err != nil {
		t.Fatal(err)
	}
	if made.Store == nil || made.Store.Sessions != counts.Sessions || made.Store.Messages != counts.Messages || made.Secrets {
		t.Errorf("%+v, want %+v", made.Store, counts)
	}
	again := succeeds(t, "profile", "import", source, "--home", home)
	if f, err := store.Check(t.Context(), filepath.Join(home, "state.db")); err != nil || f.Sessions != counts.Sessions || f.Messages != counts.Messages {
		t.Errorf("after a second import %+v: %v\n%s", f, err, again)
	}
	if err := contains(succeeds(t, "profile", "restore", "--home", home, "--list"), filepath.Base(made.Path), "manual"); err != nil {
		t.Error(err)
	}
	if err := contains(succeeds(t, "profile", "restore", "--home", home, "--dry-run"), "would be restored"); err != nil {
		t.Error(err)
	}
	r = succeeds(t, "profile", "restore", "--yes", "--home", home, "--from", filepath.Base(made.Path))
	if err := contains(r, "kept as "+filepath.Join(home, "state.db.before-restore-")); err != nil {
		t.Error(err)
	}
	release, err := store.Claim(filepath.Join(home, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"backup"}, {"restore", "--yes"}} {
		r := runHere(t, nil, append(append([]string{"profile"}, args...), "--home", home)...)
		if r.code != exit.TryAgain || !strings.Contains(r.stderr, "state.db is ") {
			t.Errorf("while somebody has the store: %s", r)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestBackupsColumn counts what is there, whoever made it, and says of what is declared whether it is made.
func TestBackupsColumn(t *testing.T) {
	home := profilehome.Write(t, t.TempDir(), "ada", profilehome.Demo()).Home
	row := func(status string) profileRow {
		p := v1alpha1.Profile{}
		p.Name, p.Status.Gateway = "ada", &v1alpha1.ProfileGatewayStatus{Home: home}
		if status != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBackedUp, Status: metav1.ConditionStatus(status)}}
		}
		return newProfileRow(p)
	}
	check := func(want map[string]string) {
		t.Helper()
		for status, text := range want {
			if got := row(status).backups(); got != text {
				t.Errorf("condition %q: %q, want %q", status, got, text)
			}
		}
	}
	check(map[string]string{"": "-", "True": "0, ok", "False": "0, not ok"})
	succeeds(t, "profile", "backup", "--home", home)
	check(map[string]string{"": "1", "True": "1, ok", "False": "1, not ok"})
	home = "/elsewhere"
	check(map[string]string{"": "-", "True": "ok", "False": "not ok"})
}

// TestProfileMistakes have one line each that says what to change.
func TestProfileMistakes(t *testing.T) {
	empty := t.TempDir()
	env := map[string]string{"HOME": t.TempDir()}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no such verb":            {[]string{"profile", "bakcup"}, 2, "did you mean hermes profile backup"},
		"two profiles":            {[]string{"profile", "backup", "a", "b"}, 2, "name one profile"},
		"named twice":             {[]string{"profile", "backup", "a", "-p", "b"}, 2, "name one of them"},
		"home and socket":         {[]string{"profile", "backup", "--home", empty, "--socket", "/x"}, 2, "use one of them"},
		"unknown output":          {[]string{"profile", "restore", "a", "-o", "yaml"}, 2, "use json"},
		"list and from":           {[]string{"profile", "restore", "a", "--list", "--from", "x"}, 2, "--list only lists"},
		"nothing to restore":      {[]string{"profile", "restore", "--home", empty}, 1, "has no backup that can be used"},
		"restore and no terminal": {[]string{"profile", "restore", "--home", empty, "--from", empty + "/x"}, 2, "add --yes"},
		"no such backup":          {[]string{"profile", "restore", "--home", empty, "--from", "x"}, 1, "or give a path"},
		"no such home":            {[]string{"profile", "backup", "--home", empty + "/x"}, 1, "is not a directory"},
		"no control plane":        {[]string{"profile", "list"}, 2, "start one with hermes up"},
		"nothing known":           {[]string{"profile", "backup", "a"}, 2, "--home"},
		"show what":               {[]string{"profile", "show"}, 2, "name a profile"},
		"import what":             {[]string{"profile", "import"}, 2, "name one home"},
		"import of no home":       {[]string{"profile", "import", empty}, 1, "is not the home of an agent"},
		"import into two":         {[]string{"profile", "import", empty, "--apply", "--home", empty}, 2, "leave --home"},
		"socket that is not":      {[]string{"profile", "backup", "--socket", empty + "/s"}, 1, "does not answer"},
		"list in another form":    {[]string{"profile", "list", "-o", "xml"}, 2, "use json or name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runHere(t, env, c.args...)
			if r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") > 2 {
				t.Errorf("%s", r)
			}
		})
	}
}

// TestBytesText is the truth table of sizes.
func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 3 << 20: "3 MiB", 5 << 40: "5 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestProfileDataServed: through a running gateway, from the declaration of an import to a restore.
func TestProfileDataServed(t *testing.T) {
	m := newMachine(t)
	source, counts := pythonHome(t)
	config := filepath.Join(source, "config.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	// A directory that this machine has.
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), "/home/me/project", t.TempDir(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := everything(t, source)
	m.must("up", "--detach")
	if r := m.input("apiVersion: hermes.dev/v1alpha1\nkind: Gateway\nmetadata: {name: default}\nspec: {}\n", "apply", "-f", "-"); r.code != 0 {
		t.Fatal(r)
	}
	if err := contains(m.must("profile", "import", source, "--name", "ada", "--apply", "--with-secrets"), "profile.hermes.dev/ada created", "IMPORTED"); err != nil {
		t.Error(err)
	}
	if everything(t, source) != before {
		t.Error("the source changed")
	}
	var made localapi.BackupInfo
	if err := json.Unmarshal([]byte(m.must("profile", "backup", "ada", "-o", "json").stdout), &made); err != nil {
		t.Fatal(err)
	}
	if made.Store == nil || made.Store.Sessions != counts.Sessions || made.Store.Messages != counts.Messages {
		t.Errorf("%+v, want %+v", made.Store, counts)
	}
	// Names only: the values that are there stay.
	m.must("profile", "import", source, "--name", "ada", "--apply")
	if got := m.must("get", "secret", "ada-env", "-o", "jsonpath={.data.TELEGRAM_BOT_TOKEN}").stdout; got == "" {
		t.Error("an import without values emptied a Secret")
	}
	if err := contains(m.must("profile", "restore", "ada", "--yes"), "restored state.db", "kept as"); err != nil {
		t.Error(err)
	}
	if err := contains(m.must("profile", "list"), "ada", fmt.Sprint(counts.Sessions)); err != nil {
		t.Error(err)
	}
	if err := contains(m.must("profile", "show", "ada"), "Ready", filepath.Base(made.Path)); err != nil {
		t.Error(err)
	}
}
