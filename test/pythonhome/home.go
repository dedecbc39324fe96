package pythonhome

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Secrets are the values that must not leave the home unless asked for.
var Secrets = []string{"sk-openrouter-secret", "tg-bot-secret", "mcp-literal-secret", "sk-model-secret", "auxiliary-secret"}

// files are a home that was in use for years.
var files = map[string]string{
	"config.yaml": "\ufeff" + `model:
  default: qwen3
  provider: openrouter
  base_url: https://openrouter.ai/api/v1
  context_length: 65536
  temperature: 0.3
fallback_providers:
- {provider: openai, model: gpt-5-mini}
- {provider: custom, model: local}          # no base_url: cannot be a fallback
timezone: Europe/Berlin
toolsets: [hermes-cli, file, someone-elses, terminal]
approvals: {mode: smart}
cron: {max_parallel_jobs: 2, catch_up_missed: false, wrap_response: false}
prompt_caching: {cache_ttl: 1h}
compression: {enabled: true}
terminal: {cwd: /home/me/project}
telemetry: {shared_metrics: {collect: true}}
auxiliary: {vision: {api_key: auxiliary-secret, model: v}}
my_own_plugin: {colour: red}
mcp_servers:
  search:
    command: npx
    args: [-y, search-mcp]
    env: {TOKEN: mcp-literal-secret, OTHER: "${TELEGRAM_BOT_TOKEN}"}
    timeout: 30
    sampling: true
  broken: {}
`,
	".env": `# keys
export OPENROUTER_API_KEY=sk-openrouter-secret
TELEGRAM_BOT_TOKEN='tg-bot-secret'
HERMES_CRON_TIMEOUT=900
EDITOR=vim
`,
	"SOUL.md":                          "You are Hermes.\nBe kind, caf\xe9.\n",
	"memories/MEMORY.md":               "The user likes tea.",
	"memories/USER.md":                 "Name: Ada",
	"skills/notes/SKILL.md":            "---\nname: notes\n---\n",
	"skills/notes/scripts/run.sh":      "#!/bin/sh\n",
	"skills/weird \u202ename/SKILL.md": "x",
	"sessions/sessions.json":           "{}",
	"auth.json":                        "{}",
	"logs/gateway.log":                 "started",
	"gateway.pid":                      "1",
	"cron/output/aaaaaaaaaaaa/x":       "done",
	"cron/jobs.json": "\ufeff" + `{"jobs": [
 {"id": "aaaaaaaaaaaa", "name": "Morning Brief!", "prompt": "line one` + "\n" + `line two", "schedule": {"kind": "cron", "expr": "0 9 * * 1-5", "display": "0 9 * * 1-5"},
  "skills": ["notes"], "deliver": "telegram:42,local", "repeat": {"times": 10, "completed": 4}, "enabled": true, "state": "scheduled"},
 {"id": "bbbbbbbbbbbb", "name": "Morning brief", "prompt": "again", "schedule": {"kind": "interval", "minutes": 90}, "deliver": "origin", "enabled": false, "state": "paused", "workdir": "/srv"},
 {"id": "cccccccccccc", "name": "once", "prompt": "party", "schedule": {"kind": "once", "run_at": "2027-01-31T09:00:00+01:00"}, "repeat": {"times": 1, "completed": 0}},
 {"id": "dddddddddddd", "name": "done", "prompt": "x", "schedule": {"kind": "once", "run_at": "2025-01-31T09:00:00"}, "repeat": {"times": 1, "completed": 1}, "state": "completed"},
 {"id": "eeeeeeeeeeee", "name": "watch", "prompt": "", "script": "watch.sh", "no_agent": true, "schedule": {"kind": "interval", "minutes": 5}},
 "nonsense"
], "updated_at": "2026-01-01T00:00:00"}`,
}

// Write makes a home in dir, without a store. Everything in it is of yesterday, so that a change shows.
func Write(t testing.TB, dir string) {
	t.Helper()
	yesterday := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	for path, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(full, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "memories", "passwd")); err != nil {
		t.Fatal(err)
	}
}
