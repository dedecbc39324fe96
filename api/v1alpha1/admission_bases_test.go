package v1alpha1_test

// bases are accepted objects that use every field of their kind, so that each
// validation can be tried by changing one thing. What cannot stand together in
// one object (a command and a url) stands in different entries of a map or list.
var bases = map[string]string{
	"Profile": `
spec:
  gatewayRef: {name: default}
  model:
    provider: custom
    name: some-model
    baseURL: http://127.0.0.1:11434/v1
    credentials: [{secretKeyRef: {name: keys, key: API_KEY}}]
    fallbacks:
    - {provider: custom, name: other-model, baseURL: "https://example.com/v1", credentials: [{secretKeyRef: {name: keys, key: OTHER}}]}
    cacheTTL: 1h
    contextWindow: 128000
  identity: {soul: You are helpful.}
  homeFiles:
    one: {content: text}
    two: {from: {secretKeyRef: {name: files, key: two}}}
    three: {from: {configMapKeyRef: {name: files, key: three}}}
  workspace:
    directory: /tmp/work
    documents:
      one: {content: text}
      two: {from: {secretKeyRef: {name: files, key: two}}}
      three: {from: {configMapKeyRef: {name: files, key: three}}}
  env:
  - {name: PLAIN, value: text}
  - {name: SECRET, valueFrom: {secretKeyRef: {name: env, key: A}}}
  - {name: CONFIG, valueFrom: {configMapKeyRef: {name: env, key: B}}}
  envFrom:
  - {prefix: A_, secretRef: {name: env}}
  - {prefix: B_, configMapRef: {name: env}}
  toolsets: [file, terminal]
  disabledToolsets: [terminal]
  mcpServers:
    local:
      command: server
      args: [--stdio]
      env:
      - {name: PLAIN, value: text}
      - {name: SECRET, valueFrom: {secretKeyRef: {name: env, key: A}}}
      - {name: CONFIG, valueFrom: {configMapKeyRef: {name: env, key: B}}}
      timeout: 30s
      tools: {include: [read], exclude: [write]}
    remote:
      url: https://example.com/mcp
      headers:
      - {name: X-Plain, value: text}
      - {name: X-Secret, valueFrom: {secretKeyRef: {name: env, key: A}}}
      - {name: X-Config, valueFrom: {configMapKeyRef: {name: env, key: B}}}
      disabled: true
  plugins: [one]
  skills: [one]
  cron: {maxParallelJobs: 2, timezone: Europe/Berlin, catchUpMissed: false}
  config: {display: {compact: true}}
  approvals: {mode: Deny, allow: ["terminal:git status*"]}
  peers: {allow: [other]}
  backup: {schedule: "0 3 * * *", keep: 3}
  suspended: true
  deletionPolicy: Delete
`,
	"Gateway": `
spec:
  engine: Kubernetes
  home: /var/lib/hermes
  adoptExistingHome: true
  backend: {mode: Serve, host: 127.0.0.1, port: 9000, keyFrom: {name: backend, key: KEY}}
  relay:
    connectorURL: wss://relay.example.com
    identity: {portal: {tokenFrom: {name: relay, key: TOKEN}}}
  drainTimeout: 10s
  pod:
    image: registry.example.com/hermes:v1
    imagePullSecrets: [{name: pull}]
    resources: {cpuRequest: 100m, cpuLimit: "1", memoryRequest: 128Mi, memoryLimit: 1Gi}
    storage: {size: 1Gi, storageClassName: fast}
    scheduling: {nodeSelector: {disk: ssd}, runtimeClassName: gvisor, priorityClassName: high}
    security: {runAsUser: 1000, fsGroup: 1000}
    overlay: {spec: {hostNetwork: false}}
  updatePolicy: {mode: Manual}
`,
	"RelayIdentity": `
spec:
  gatewayRef: {name: default}
  profileRef: {name: alice}
  platform: slack
  botID: B1
  botUsername: hermes
  routeKeys: [team-1]
  relevance: {requireMention: false, freeResponseChannels: [C1], allowBots: true}
  slack: {replyInThread: true, dmTopLevelThreadsAsSessions: true}
  homeChannel: {chatID: C1, threadID: T1}
`,
	"MetricsConsent": `
spec:
  profileRef: {name: alice}
  collect: true
  send: true
  endpoint: https://metrics.example.com/v1
`,
	"Schedule": `
spec:
  profileRef: {name: alice}
  schedule: "0 9 * * 1-5"
  timezone: Europe/Berlin
  prompt: What is new?
  skills: [news]
  deliver: ["slack:C1"]
  repeat: 3
  suspend: true
  model: some-model
`,
}

// processGateway turns the base Gateway into one of engine Process.
var processGateway = []change{
	set("spec.engine", "Process"), remove("spec.pod"),
	set("spec.process", `{memoryLimit: 64Mi, logDir: /var/log/hermes, env: [{name: LANG, value: C}]}`),
}

// clientCredentials and ambient turn the relay identity of the base Gateway into the other forms.
var (
	clientCredentials = set("spec.relay.identity", `{clientCredentials: {clientID: me, clientSecretFrom: {name: relay, key: S}, tokenURL: "https://auth.example.com/token"}}`)
	ambient           = set("spec.relay.identity", `{ambient: {tokenFile: /var/run/token}}`)
)
