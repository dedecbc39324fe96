package v1alpha1_test

import "strings"

var gatewayRules = []ruleCase{
	{
		kind: "Gateway", path: "", message: "at most 63 characters",
		refuse: []refusal{{name: strings.Repeat("a", 64), field: "metadata"}},
	},
	{
		kind: "Gateway", path: "spec", message: "pod is for engine Kubernetes",
		accept: processGateway,
		refuse: []refusal{refused("spec.pod", text("spec.engine", "Process"))},
	},
	{
		kind: "Gateway", path: "spec", message: "process is for engine Process",
		accept: processGateway,
		refuse: []refusal{refused("spec.process", set("spec.process", `{}`))},
	},
	{
		kind: "Gateway", path: "spec.backend", message: "has no effect with mode None",
		accept: []change{set("spec.backend", `{mode: None}`)},
		refuse: []refusal{refused("spec.backend.keyFrom", text("spec.backend.mode", "None"))},
	},
	{
		kind: "Gateway", path: "spec.backend", message: "needs keyFrom",
		accept: []change{text("spec.backend.mode", "Dashboard")},
		refuse: []refusal{refused("spec.backend.keyFrom", remove("spec.backend.keyFrom"))},
	},
	{
		kind: "Gateway", path: "spec.drainTimeout", message: "between 0s and 1h",
		accept: []change{text("spec.drainTimeout", "0s")},
		refuse: []refusal{
			refused("spec.drainTimeout", text("spec.drainTimeout", "1h0m1s")),
			refused("spec.drainTimeout", text("spec.drainTimeout", "-1s")),
		},
	},
	{
		kind: "Gateway", path: "spec.engine", message: "engine cannot be changed", update: true,
		from:   []change{remove("spec.pod")},
		refuse: []refusal{refused("spec.engine", text("spec.engine", "Process"))},
	},
	{
		kind: "Gateway", path: "spec.home", message: "absolute path without '..'",
		accept: []change{text("spec.home", "/a..b/.hermes")},
		refuse: []refusal{
			refused("spec.home", text("spec.home", "~/.hermes")),
			refused("spec.home", text("spec.home", "/home/../etc")),
			refused("spec.home", text("spec.home", "/home/..")),
		},
	},
	{
		kind: "Gateway", path: "spec.pod.image", message: "name a version or a digest",
		accept: []change{text("spec.pod.image", "hermes@sha256:"+strings.Repeat("0", 64))},
		refuse: []refusal{refused("spec.pod.image", text("spec.pod.image", "hermes:latest"))},
	},
	{
		kind: "Gateway", path: "spec.pod.resources", message: "memoryRequest must not be above",
		accept: []change{set("spec.pod.resources", `{memoryRequest: 1024Mi, memoryLimit: 1Gi}`)},
		refuse: []refusal{refused("spec.pod.resources.memoryRequest", text("spec.pod.resources.memoryRequest", "2Gi"))},
	},
	{
		kind: "Gateway", path: "spec.pod.resources", message: "cpuRequest must not be above",
		accept: []change{set("spec.pod.resources", `{cpuRequest: 1, cpuLimit: "1000m"}`)},
		refuse: []refusal{refused("spec.pod.resources.cpuRequest", set("spec.pod.resources.cpuRequest", "2"))},
	},
	{
		kind: "Gateway", path: "spec.pod.storage", message: "existingClaim brings its own size",
		accept: []change{set("spec.pod.storage", `{existingClaim: homes}`)},
		refuse: []refusal{
			refused("spec.pod.storage.existingClaim", set("spec.pod.storage", `{existingClaim: homes, size: 1Gi}`)),
			refused("spec.pod.storage.existingClaim", set("spec.pod.storage", `{existingClaim: homes, storageClassName: fast}`)),
		},
	},
	{
		kind: "Gateway", path: "spec.pod.storage.size", message: "size cannot shrink", update: true,
		accept: []change{text("spec.pod.storage.size", "2Gi")},
		refuse: []refusal{refused("spec.pod.storage.size", text("spec.pod.storage.size", "1023Mi"))},
	},
	{
		kind: "Gateway", path: "spec.pod.storage.storageClassName", message: "cannot be changed", update: true,
		refuse: []refusal{refused("spec.pod.storage.storageClassName", text("spec.pod.storage.storageClassName", "slow"))},
	},
	{
		kind: "Gateway", path: "spec.process.env[].name", message: "start with HERMES_", from: processGateway,
		accept: []change{text("spec.process.env[0].name", "NO_HERMES_")},
		refuse: []refusal{refused("spec.process.env[0].name", text("spec.process.env[0].name", "HERMES_HOME"))},
	},
	{
		kind: "Gateway", path: "spec.process.logDir", message: "logDir must be an absolute path", from: processGateway,
		accept: []change{text("spec.process.logDir", "/l")},
		refuse: []refusal{refused("spec.process.logDir", text("spec.process.logDir", "logs"))},
	},
	{
		kind: "Gateway", path: "spec.process.memoryLimit", message: "at least 32Mi", from: processGateway,
		accept: []change{set("spec.process.memoryLimit", "33554432")},
		refuse: []refusal{
			refused("spec.process.memoryLimit", text("spec.process.memoryLimit", "31Mi")),
			refused("spec.process.memoryLimit", set("spec.process.memoryLimit", "1024")),
		},
	},
	{
		kind: "Gateway", path: "spec.relay.connectorURL", message: "must be https or wss",
		accept: []change{text("spec.relay.connectorURL", "ws://[::1]:8080")},
		refuse: []refusal{
			refused("spec.relay.connectorURL", text("spec.relay.connectorURL", "ws://relay.example.com")),
			refused("spec.relay.connectorURL", text("spec.relay.connectorURL", "http://localhost.example.com")),
			refused("spec.relay.connectorURL", text("spec.relay.connectorURL", "ftp://localhost")),
			refused("spec.relay.connectorURL", text("spec.relay.connectorURL", "relay")),
		},
	},
	{
		kind: "Gateway", path: "spec.relay.identity", message: "exactly one of portal",
		accept: []change{ambient},
		refuse: []refusal{
			refused("spec.relay.identity", set("spec.relay.identity", `{}`)),
			refused("spec.relay.identity", set("spec.relay.identity.ambient", `{tokenFile: /t}`)),
		},
	},
	{
		kind: "Gateway", path: "spec.relay.identity.ambient.tokenFile", message: "tokenFile must be an absolute path",
		from: []change{ambient}, accept: []change{text("spec.relay.identity.ambient.tokenFile", "/t")},
		refuse: []refusal{refused("spec.relay.identity.ambient.tokenFile", text("spec.relay.identity.ambient.tokenFile", "t"))},
	},
	{
		kind: "Gateway", path: "spec.relay.identity.clientCredentials.tokenURL", message: "tokenURL must be https",
		from:   []change{clientCredentials},
		accept: []change{text("spec.relay.identity.clientCredentials.tokenURL", "http://127.0.0.1:1/token")},
		refuse: []refusal{
			refused("spec.relay.identity.clientCredentials.tokenURL", text("spec.relay.identity.clientCredentials.tokenURL", "http://auth.example.com")),
			refused("spec.relay.identity.clientCredentials.tokenURL", text("spec.relay.identity.clientCredentials.tokenURL", "auth")),
		},
	},
}
