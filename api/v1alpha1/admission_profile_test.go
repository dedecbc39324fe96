package v1alpha1_test

import "strings"

// bothSources and noSource break "exactly one of secretKeyRef and configMapKeyRef".
const (
	bothSources = `{secretKeyRef: {name: a, key: b}, configMapKeyRef: {name: a, key: b}}`
	noSource    = `{}`
)

// valueSourceCase tries the rule of a ValueSource at one place of the spec.
func valueSourceCase(schemaPath, path, field string) ruleCase {
	return ruleCase{
		kind: "Profile", path: schemaPath, message: "exactly one of secretKeyRef and configMapKeyRef",
		accept: []change{set(path, `{configMapKeyRef: {name: a, key: b}}`)},
		refuse: []refusal{refused(field, set(path, bothSources)), refused(field, set(path, noSource))},
	}
}

// fileSourceCase tries the rule of a FileSource at one place of the spec.
func fileSourceCase(schemaPath, path, field string) ruleCase {
	return ruleCase{
		kind: "Profile", path: schemaPath, message: "exactly one of content",
		accept: []change{set(path, `{content: ""}`)},
		refuse: []refusal{refused(field, set(path, `{}`)), refused(field, set(path, `{content: a, from: {secretKeyRef: {name: a, key: b}}}`))},
	}
}

// pathCase tries the rule of the keys of a map of files.
func pathCase(path, message string) ruleCase {
	c := ruleCase{kind: "Profile", path: path, message: message, accept: []change{filesAt(path, "memories/a..b/c.md")}}
	for _, bad := range []string{"/etc/passwd", "../x", "..", ".", "a/..", "a/../../b", "a/b/../c", ""} {
		c.refuse = append(c.refuse, refused(path, filesAt(path, bad)))
	}
	return c
}

// filesAt declares one file by its path.
func filesAt(field, name string) change {
	return change{path: field, value: map[string]any{name: map[string]any{"content": "x"}}}
}

var profileRules = []ruleCase{
	{
		// G-110, as far as the names of API objects allow: no '_', at most 63 of them, because they become labels.
		kind: "Profile", path: "", message: "at most 63 of a-z",
		accept: []change{text("metadata.name", "9"+strings.Repeat("a", 61)+"-b"[1:])},
		refuse: []refusal{
			{name: strings.Repeat("a", 64), field: "metadata"},
			{name: "has.dot", field: "metadata"},
		},
	},
	{
		// G-111, without default: that one is the profile at the root itself.
		kind: "Profile", path: "", message: "is reserved",
		accept: []change{text("metadata.name", "default")},
		refuse: []refusal{
			{name: "hermes", field: "metadata"}, {name: "test", field: "metadata"}, {name: "tmp", field: "metadata"},
			{name: "root", field: "metadata"}, {name: "sudo", field: "metadata"},
		},
	},
	{
		kind: "Profile", path: "spec", message: "workspace.documents need workspace.directory",
		accept: []change{remove("spec.workspace.documents"), remove("spec.workspace.directory")},
		refuse: []refusal{refused("spec.workspace", remove("spec.workspace.directory"))},
	},
	{
		kind: "Profile", path: "spec.env[]", message: "set value or valueFrom",
		accept: []change{set("spec.env[0]", `{name: EMPTY}`)},
		refuse: []refusal{refused("spec.env[0]", set("spec.env[0].valueFrom", `{secretKeyRef: {name: a, key: b}}`))},
	},
	{
		kind: "Profile", path: "spec.env[].name", message: "start with HERMES_",
		accept: []change{text("spec.env[0].name", "MY_HERMES_")},
		refuse: []refusal{refused("spec.env[0].name", text("spec.env[0].name", "HERMES_HOME"))},
	},
	valueSourceCase("spec.env[].valueFrom", "spec.env[1].valueFrom", "spec.env[1].valueFrom"),
	{
		kind: "Profile", path: "spec.envFrom[]", message: "exactly one of secretRef and configMapRef",
		accept: []change{set("spec.envFrom[0]", `{configMapRef: {name: a}}`)},
		refuse: []refusal{
			refused("spec.envFrom[0]", set("spec.envFrom[0].configMapRef", `{name: a}`)),
			refused("spec.envFrom[0]", remove("spec.envFrom[0].secretRef")),
		},
	},
	pathCase("spec.homeFiles", "relative to HERMES_HOME"),
	{
		kind: "Profile", path: "spec.homeFiles", message: "written by the runtime",
		accept: []change{filesAt("spec.homeFiles", "SOUL.md"), remove("spec.identity")},
		refuse: []refusal{
			refused("spec.homeFiles", filesAt("spec.homeFiles", "config.yaml")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", ".env")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", ".managed")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "auth.json")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "profile.yaml")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "state.db-wal")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "gateway.pid")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "cron/jobs.json")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "profiles/other/SOUL.md")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", ".hermes-record")),
			refused("spec.homeFiles", filesAt("spec.homeFiles", "api.sock")),
		},
	},
	fileSourceCase("spec.homeFiles.*", "spec.homeFiles.one", "spec.homeFiles[one]"),
	valueSourceCase("spec.homeFiles.*.from", "spec.homeFiles.two.from", "spec.homeFiles[two].from"),
	{
		kind: "Profile", path: "spec.identity", message: "exactly one of soul",
		accept: []change{set("spec.identity", `{soulFrom: {secretKeyRef: {name: a, key: b}}}`)},
		refuse: []refusal{
			refused("spec.identity", set("spec.identity", `{}`)),
			refused("spec.identity", set("spec.identity.soulFrom", `{secretKeyRef: {name: a, key: b}}`)),
		},
	},
	{
		kind: "Profile", path: "spec.identity.soulFrom", message: "exactly one of secretKeyRef and configMapKeyRef",
		from:   []change{remove("spec.identity.soul")},
		accept: []change{set("spec.identity.soulFrom", `{configMapKeyRef: {name: a, key: b}}`)},
		refuse: []refusal{
			refused("spec.identity.soulFrom", set("spec.identity.soulFrom", bothSources)),
			refused("spec.identity.soulFrom", set("spec.identity.soulFrom", noSource)),
		},
	},
	{
		kind: "Profile", path: "spec.mcpServers.*", message: "exactly one of command",
		accept: []change{set("spec.mcpServers.local", `{url: "https://example.com"}`)},
		refuse: []refusal{
			refused("spec.mcpServers[local]", remove("spec.mcpServers.local.command")),
			refused("spec.mcpServers[local]", text("spec.mcpServers.local.url", "https://example.com")),
		},
	},
	{
		kind: "Profile", path: "spec.mcpServers.*.env[]", message: "set value or valueFrom",
		accept: []change{set("spec.mcpServers.local.env[0]", `{name: EMPTY}`)},
		refuse: []refusal{refused("spec.mcpServers[local].env[0]", set("spec.mcpServers.local.env[0].valueFrom", `{secretKeyRef: {name: a, key: b}}`))},
	},
	{
		kind: "Profile", path: "spec.mcpServers.*.env[].name", message: "start with HERMES_",
		accept: []change{text("spec.mcpServers.local.env[0].name", "NO_HERMES_")},
		refuse: []refusal{refused("spec.mcpServers[local].env[0].name", text("spec.mcpServers.local.env[0].name", "HERMES_X"))},
	},
	valueSourceCase("spec.mcpServers.*.env[].valueFrom", "spec.mcpServers.local.env[1].valueFrom", "spec.mcpServers[local].env[1].valueFrom"),
	{
		kind: "Profile", path: "spec.mcpServers.*.headers[]", message: "exactly one of value and valueFrom",
		accept: []change{set("spec.mcpServers.remote.headers[0]", `{name: X, value: ""}`)},
		refuse: []refusal{
			refused("spec.mcpServers[remote].headers[0]", set("spec.mcpServers.remote.headers[0]", `{name: X}`)),
			refused("spec.mcpServers[remote].headers[0]", set("spec.mcpServers.remote.headers[0].valueFrom", `{secretKeyRef: {name: a, key: b}}`)),
		},
	},
	valueSourceCase("spec.mcpServers.*.headers[].valueFrom", "spec.mcpServers.remote.headers[1].valueFrom", "spec.mcpServers[remote].headers[1].valueFrom"),
	{
		// What is no duration would be stored and then fail to decode in everyone who watches Profiles.
		kind: "Profile", path: "spec.mcpServers.*.timeout", message: "timeout must be a duration",
		accept: []change{text("spec.mcpServers.local.timeout", "1m30s")},
		refuse: []refusal{
			refused("spec.mcpServers[local].timeout", text("spec.mcpServers.local.timeout", "soon")),
			refused("spec.mcpServers[local].timeout", text("spec.mcpServers.local.timeout", "500ms")),
		},
	},
	urlCase("spec.mcpServers.*.url", "spec.mcpServers.remote.url", "spec.mcpServers[remote].url", "http or https"),
	{
		kind: "Profile", path: "spec.model", message: "provider custom needs baseURL",
		accept: []change{text("spec.model.provider", "openai"), remove("spec.model.baseURL")},
		refuse: []refusal{refused("spec.model.baseURL", remove("spec.model.baseURL"))},
	},
	{
		kind: "Profile", path: "spec.model", message: "name the model to use",
		accept: []change{set("spec.model", `{provider: demo}`)},
		refuse: []refusal{refused("spec.model.name", remove("spec.model.name"))},
	},
	urlCase("spec.model.baseURL", "spec.model.baseURL", "spec.model.baseURL", "http or https"),
	{
		kind: "Profile", path: "spec.model.fallbacks[]", message: "provider custom needs baseURL",
		accept: []change{set("spec.model.fallbacks[0]", `{provider: openai, name: m}`)},
		refuse: []refusal{refused("spec.model.fallbacks[0].baseURL", remove("spec.model.fallbacks[0].baseURL"))},
	},
	urlCase("spec.model.fallbacks[].baseURL", "spec.model.fallbacks[0].baseURL", "spec.model.fallbacks[0].baseURL", "http or https"),
	{
		kind: "Profile", path: "spec.workspace.directory", message: "absolute path without '..'",
		accept: []change{text("spec.workspace.directory", "/home/me/a..b")},
		refuse: []refusal{
			refused("spec.workspace.directory", text("spec.workspace.directory", "relative")),
			refused("spec.workspace.directory", text("spec.workspace.directory", "/home/../etc")),
			refused("spec.workspace.directory", text("spec.workspace.directory", "/home/..")),
			refused("spec.workspace.directory", text("spec.workspace.directory", "~/work")),
		},
	},
	pathCase("spec.workspace.documents", "relative to workspace.directory"),
	fileSourceCase("spec.workspace.documents.*", "spec.workspace.documents.one", "spec.workspace.documents[one]"),
	valueSourceCase("spec.workspace.documents.*.from", "spec.workspace.documents.two.from", "spec.workspace.documents[two].from"),
}

// urlCase tries a rule that wants an http or https URL.
func urlCase(schemaPath, path, field, message string) ruleCase {
	return ruleCase{
		kind: "Profile", path: schemaPath, message: message,
		accept: []change{text(path, "https://[::1]:8080/v1")},
		refuse: []refusal{
			refused(field, text(path, "127.0.0.1:8080")),
			refused(field, text(path, "ftp://example.com")),
			refused(field, text(path, "not a url")),
		},
	}
}
