package e2e

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"hermes.dev/hermes/api/v1alpha1"
)

// pythonHome makes what the Python agent leaves in a home directory.
func pythonHome(t *testing.T, root string) {
	t.Helper()
	for path, content := range map[string]string{
		"config.yaml":                    "# mine\nmodel:\n  default: gpt-5-mini   # keep\ncustom_key:\n  nested: [1, 2]\ndisplay: {skin: mono}\n",
		".env":                           "OPENAI_API_KEY=sk-person\nTELEGRAM_TOKEN=person\n",
		"SOUL.md":                        "You are mine.\n",
		"memories/MEMORY.md":             "likes tea\n",
		"skills/tea/SKILL.md":            "---\nname: tea\n---\n",
		"cron/jobs.json":                 "[]\n",
		"sessions/old.jsonl":             "{}\n",
		"profiles/work/config.yaml":      "model: {default: gpt-5}\n",
		"profiles/work/.env":             "OPENAI_API_KEY=sk-work\n",
		"profiles/work/workspace/a.txt":  "a\n",
		"logs/gateway.log":               "started\n",
		"auth.json":                      "{}\n",
		"profiles/work/profile.yaml":     "name: work\n",
		"profiles/work/memories/USER.md": "x\n",
	} {
		writeFile(t, filepath.Join(root, path), content)
	}
	db, err := sql.Open("sqlite", filepath.Join(root, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE schema_version (version INTEGER NOT NULL)`,
		`INSERT INTO schema_version VALUES (3)`,
		`CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, started_at REAL NOT NULL, ended_at REAL, message_count INTEGER DEFAULT 0, title TEXT)`,
		`CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT)`,
		`INSERT INTO sessions (id, source, model, started_at, message_count, title) VALUES ('20250101_120000_abcdef', 'cli', 'gpt-5-mini', 1735732800.5, 1, 'Tea')`,
		`INSERT INTO messages (session_id, role, content, timestamp) VALUES ('20250101_120000_abcdef', 'user', 'I like tea', 1735732801.5)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// fingerprints says everything about the files below a directory that a write would change.
func fingerprints(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[path] += fmt.Sprintf(" %x", sha256.Sum256(raw))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// untouched fails the test for every difference between two looks at a directory.
func untouched(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if is, ok := after[path]; !ok {
			t.Errorf("%s: %s is gone", what, path)
		} else if is != was {
			t.Errorf("%s: %s was %s, is %s", what, path, was, is)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s: %s is new", what, path)
		}
	}
}

// TestPythonHomeIsNotTouchedUnlessAdopted: a person's own home is safe from hermes up, refused to a Gateway, and
// taken over only when that is declared, with a backup and without losing a key of theirs.
func TestPythonHomeIsNotTouchedUnlessAdopted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	root := filepath.Join(c.Home, ".hermes")
	pythonHome(t, root)
	before := fingerprints(t, c.Home)

	c.Up("--demo", "--wait")
	c.Say("demo", "hello")
	untouched(t, "up --demo", before, fingerprints(t, c.Home))

	k := c.Client()
	home := fmt.Sprintf("  home: %s\n", root)
	c.Apply(gatewayYAML("mine", home), demoYAML("default", "  gatewayRef: {name: mine}\n  config: {display: {theme: dark}}\n"))
	refused := AwaitCondition(c, k, gateway("mine"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonHomeNotOurs)
	if !strings.Contains(refused.Message, "adoptExistingHome") || !strings.Contains(refused.Message, root) {
		t.Errorf("the refusal does not help: %s", refused.Message)
	}
	untouched(t, "refused Gateway", before, fingerprints(t, c.Home))

	c.Apply(gatewayYAML("mine", home+"  adoptExistingHome: true\n"))
	AwaitReady(c, k, gateway("mine"), profile("default"))
	config := readFile(t, filepath.Join(root, "config.yaml"))
	for _, kept := range []string{"custom_key", "nested", "skin: mono", "theme: dark"} {
		if !strings.Contains(config, kept) {
			t.Errorf("config.yaml has no %q after adoption:\n%s", kept, config)
		}
	}
	if !backedUp(t, root, "# mine\nmodel:\n  default: gpt-5-mini   # keep") {
		t.Error("backups/ does not hold config.yaml as it was")
	}
	after := fingerprints(t, c.Home)
	for _, path := range []string{"memories/MEMORY.md", "skills/tea/SKILL.md", "cron/jobs.json", "profiles/work/config.yaml", "profiles/work/.env", "auth.json"} {
		if p := filepath.Join(root, path); after[p] != before[p] {
			t.Errorf("adoption changed %s", path)
		}
	}
	api := c.API(root)
	if said := say(t, api, "default", "hello"); said == "" {
		t.Error("no answer from the adopted home")
	}
	old, err := api.Session(t.Context(), "default", "20250101_120000_abcdef")
	if err != nil || len(old.Transcript) != 1 || old.Transcript[0].Content != "I like tea" {
		t.Errorf("the session of before: %+v, %v", old, err)
	}
}

// backedUp looks for a file in backups/ that begins so.
func backedUp(t *testing.T, root, content string) bool {
	t.Helper()
	found := false
	_ = filepath.WalkDir(filepath.Join(root, "backups"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found = found || strings.HasPrefix(readFile(t, path), content)
		}
		return nil
	})
	return found
}
