package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProfileSpec declares one agent: who it is, which model answers, which files,
// secrets and tools it has, and which gateway runs it.
// +kubebuilder:validation:XValidation:rule="!has(self.workspace) || !has(self.workspace.documents) || size(self.workspace.documents) == 0 || (has(self.workspace.directory) && size(self.workspace.directory) > 0)",message="workspace.documents need workspace.directory: set it to where the files should go (SOUL.md and memories/ belong in homeFiles instead)",fieldPath=".workspace"
type ProfileSpec struct {
	// GatewayRef names the Gateway that serves this profile.
	// +kubebuilder:default={name: default}
	// +optional
	GatewayRef GatewayRef `json:"gatewayRef,omitzero"`

	// Model is the language model that answers.
	Model ModelSpec `json:"model"`

	// Identity is who the agent is: the text of SOUL.md.
	// +optional
	Identity *IdentitySpec `json:"identity,omitempty"`

	// HomeFiles are files put into HERMES_HOME, by path relative to it.
	// SOUL.md (unless identity is set) and memories/ belong here. The files the runtime owns
	// (config.yaml, .env, state.db, sockets) cannot be declared.
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '.' && k != '' && !k.startsWith('/') && !('/' + k + '/').contains('/../'))",message="a path is relative to HERMES_HOME: no leading '/', no '..'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['config.yaml', '.env', '.managed', 'auth.json', 'profile.yaml']) && !k.startsWith('state.db') && !k.startsWith('gateway') && !k.startsWith('cron/') && !k.startsWith('profiles/') && !k.startsWith('.hermes-') && !k.startsWith('api.sock'))",message="this file is written by the runtime and cannot be declared: use spec.config for config.yaml, spec.env for .env, a Schedule for cron jobs"
	// +optional
	HomeFiles map[string]FileSource `json:"homeFiles,omitempty"`

	// Workspace is the directory the agent works in.
	// +optional
	Workspace *WorkspaceSpec `json:"workspace,omitempty"`

	// Env are variables written to the profile's .env, visible to its tools.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []EnvVar `json:"env,omitempty"`

	// EnvFrom takes whole Secrets and ConfigMaps as variables. Later entries win over earlier ones; env wins over all.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`

	// Toolsets the agent may use. Empty means all but opt-in ones.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Toolsets []string `json:"toolsets,omitempty"`

	// DisabledToolsets are taken away from the toolsets above.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	DisabledToolsets []string `json:"disabledToolsets,omitempty"`

	// MCPServers are Model Context Protocol servers the agent connects to, by name.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	MCPServers map[string]MCPServerSpec `json:"mcpServers,omitempty"`

	// Plugins to enable, by name.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Plugins []string `json:"plugins,omitempty"`

	// Skills to offer, by name.
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	Skills []string `json:"skills,omitempty"`

	// Cron bounds the profile's scheduled work.
	// +optional
	Cron *CronSpec `json:"cron,omitempty"`

	// Config is laid over config.yaml as it is: declared keys win, all other keys in the file stay.
	// Keys that a typed field of this spec already owns are refused with condition HomeRendered=False.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Config *apiextensionsv1.JSON `json:"config,omitempty"`

	// Approvals says when a person must agree before a tool acts.
	// +kubebuilder:default={mode: Ask}
	// +optional
	Approvals ApprovalsSpec `json:"approvals,omitzero"`

	// Peers says which other profiles of the same gateway may exchange messages with this one.
	// +optional
	Peers *PeersSpec `json:"peers,omitempty"`

	// Backup takes verified copies of the profile's store on a schedule.
	// +optional
	Backup *BackupSpec `json:"backup,omitempty"`

	// Suspended closes the profile without deleting anything: no turns, no cron.
	// +optional
	Suspended bool `json:"suspended,omitempty"`

	// DeletionPolicy says what happens to the home when this object is deleted.
	// Retain keeps every file; Delete removes the home directory and its store.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy says what happens to data when its object is deleted.
type DeletionPolicy string

const (
	// DeletionRetain keeps the home directory and its store.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionDelete removes the home directory and its store.
	DeletionDelete DeletionPolicy = "Delete"
)

// GatewayRef names a Gateway in the same namespace.
type GatewayRef struct {
	// Name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:default=default
	// +optional
	Name string `json:"name,omitempty"`
}

// ProfileRef names a Profile in the same namespace.
type ProfileRef struct {
	// Name of the Profile.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// ModelSpec says which model answers and how to reach it.
// +kubebuilder:validation:XValidation:rule="self.provider != 'custom' || has(self.baseURL)",message="provider custom needs baseURL: the address of an OpenAI-compatible server, for example http://127.0.0.1:11434/v1",fieldPath=".baseURL"
// +kubebuilder:validation:XValidation:rule="self.provider == 'demo' || has(self.name)",message="name the model to use, for example gpt-5-mini (only provider demo has none)",fieldPath=".name"
type ModelSpec struct {
	// Provider of the model. custom is any OpenAI-compatible server at baseURL; demo is the
	// built-in scripted demo that needs no network and is not a language model.
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9_-]{0,63}$`
	// +kubebuilder:default=openai
	// +optional
	Provider string `json:"provider,omitempty"`

	// Name of the model, as the provider spells it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Name string `json:"name,omitempty"`

	// BaseURL of an OpenAI-compatible API. Defaults to the provider's own.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https']",message="baseURL must be an http or https URL, for example https://api.openai.com/v1"
	// +optional
	BaseURL string `json:"baseURL,omitempty"`

	// Credentials are the API keys to use, tried in order. Only references: a key never stands in a manifest.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Credentials []ModelCredential `json:"credentials,omitempty"`

	// Fallbacks are tried in order when the model above cannot answer.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Fallbacks []ModelFallback `json:"fallbacks,omitempty"`

	// CacheTTL is how long the provider keeps the prompt prefix: 5m, 1h, or auto (by who paces the session).
	// +kubebuilder:validation:Enum="5m";"1h";auto
	// +kubebuilder:default="5m"
	// +optional
	CacheTTL string `json:"cacheTTL,omitempty"`

	// ContextWindow of the model in tokens, when the provider's own figure is unknown or wrong.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=100000000
	// +optional
	ContextWindow *int64 `json:"contextWindow,omitempty"`
}

// ModelCredential is one API key, by reference.
type ModelCredential struct {
	// SecretKeyRef names the Secret and key that hold the API key.
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// ModelFallback is another model to try.
// +kubebuilder:validation:XValidation:rule="self.provider != 'custom' || has(self.baseURL)",message="provider custom needs baseURL",fieldPath=".baseURL"
type ModelFallback struct {
	// Provider of the model.
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9_-]{0,63}$`
	Provider string `json:"provider"`

	// Name of the model.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// BaseURL of an OpenAI-compatible API. Defaults to the provider's own.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https']",message="baseURL must be an http or https URL"
	// +optional
	BaseURL string `json:"baseURL,omitempty"`

	// Credentials for this model. Empty means none: keys of the first model are never sent elsewhere.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Credentials []ModelCredential `json:"credentials,omitempty"`
}

// IdentitySpec is who the agent is.
// +kubebuilder:validation:XValidation:rule="has(self.soul) != has(self.soulFrom)",message="set exactly one of soul (text) and soulFrom (a Secret or ConfigMap key)"
type IdentitySpec struct {
	// Soul is the text of SOUL.md.
	// +kubebuilder:validation:MaxLength=131072
	// +optional
	Soul *string `json:"soul,omitempty"`

	// SoulFrom takes SOUL.md from a Secret or ConfigMap key.
	// +optional
	SoulFrom *ValueSource `json:"soulFrom,omitempty"`
}

// WorkspaceSpec is the directory the agent works in.
type WorkspaceSpec struct {
	// Directory is the working directory of tools, an absolute path. Defaults to workspace/ in the profile's home.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains('/../') && !self.endsWith('/..')",message="directory must be an absolute path without '..', for example /home/me/project"
	// +optional
	Directory string `json:"directory,omitempty"`

	// Documents are files put into the directory, by path relative to it: project context such as AGENTS.md.
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '.' && k != '' && !k.startsWith('/') && !('/' + k + '/').contains('/../'))",message="a path is relative to workspace.directory: no leading '/', no '..'"
	// +optional
	Documents map[string]FileSource `json:"documents,omitempty"`
}

// MCPServerSpec is one Model Context Protocol server: a command, or a URL.
// +kubebuilder:validation:XValidation:rule="has(self.command) != has(self.url)",message="set exactly one of command (a local server) and url (a remote one)"
type MCPServerSpec struct {
	// Command to start a local server.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Command string `json:"command,omitempty"`

	// Args of the command.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`

	// Env of the command; nothing else is passed to it.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []EnvVar `json:"env,omitempty"`

	// URL of a remote server.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https']",message="url must be an http or https URL"
	// +optional
	URL string `json:"url,omitempty"`

	// Headers sent to a remote server.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []HeaderSpec `json:"headers,omitempty"`

	// Disabled keeps the declaration and does not connect.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// Timeout of one call, for example 30s.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="timeout must be a duration of at least 1s, for example 30s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Tools selects what to offer of the server's tools.
	// +optional
	Tools *ToolFilter `json:"tools,omitempty"`
}

// HeaderSpec is one HTTP header.
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="set exactly one of value and valueFrom"
type HeaderSpec struct {
	// Name of the header.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// Value as written.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value *string `json:"value,omitempty"`

	// ValueFrom takes the value from a Secret or ConfigMap key.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// CronSpec bounds a profile's scheduled work.
type CronSpec struct {
	// MaxParallelJobs is how many jobs may run at once. 0 means no bound.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxParallelJobs *int32 `json:"maxParallelJobs,omitempty"`

	// Timezone is the IANA zone in which schedules are read, for example Europe/Berlin.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+/-]+$`
	// +optional
	Timezone string `json:"timezone,omitempty"`

	// CatchUpMissed runs a recurring job once when its time passed while nothing ticked.
	// +kubebuilder:default=true
	// +optional
	CatchUpMissed *bool `json:"catchUpMissed,omitempty"`
}

// ApprovalMode says when a person must agree before a tool acts.
type ApprovalMode string

const (
	// ApprovalAsk asks for each action that is not on the allow list.
	ApprovalAsk ApprovalMode = "Ask"
	// ApprovalAllow lets every action through.
	ApprovalAllow ApprovalMode = "Allow"
	// ApprovalDeny refuses every action that is not on the allow list.
	ApprovalDeny ApprovalMode = "Deny"
)

// ApprovalsSpec says when a person must agree before a tool acts.
type ApprovalsSpec struct {
	// Mode: Ask (a person answers), Allow (no question), Deny (refused).
	// +kubebuilder:validation:Enum=Ask;Allow;Deny
	// +kubebuilder:default=Ask
	// +optional
	Mode ApprovalMode `json:"mode,omitempty"`

	// Allow lists what needs no approval: a tool name, or a tool and a glob over its command, as in "terminal:git status*".
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	Allow []string `json:"allow,omitempty"`
}

// PeersSpec says who may exchange messages with this profile.
type PeersSpec struct {
	// Allow lists Profiles of the same gateway. Both sides must list each other.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	Allow []string `json:"allow,omitempty"`
}

// BackupSpec takes verified copies of the profile's store.
type BackupSpec struct {
	// Schedule in cron form, for example "0 3 * * *".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`

	// Keep is how many copies stay.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=7
	// +optional
	Keep int32 `json:"keep,omitempty"`
}

// ProfileStatus is what the controller and the gateway observed.
type ProfileStatus struct {
	// ObservedGeneration is the generation of spec that the controller last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, ReferencesResolved, HomeRendered, Served, BackedUp, CronTickOwned; Reconciling and Stalled while true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// HomeHash is the content hash of the rendered home that the gateway should have.
	// +optional
	HomeHash string `json:"homeHash,omitempty"`

	// Gateway that serves the profile now, as the gateway itself reports.
	// +optional
	Gateway *ProfileGatewayStatus `json:"gateway,omitempty"`

	// Store is what the gateway last saw of the profile's session store.
	// +optional
	Store *StoreStatus `json:"store,omitempty"`

	// CronTick says who runs the profile's scheduled work.
	// +optional
	CronTick *CronTickStatus `json:"cronTick,omitempty"`
}

// ProfileGatewayStatus names the gateway instance that serves a profile.
type ProfileGatewayStatus struct {
	// Name of the Gateway.
	Name string `json:"name"`

	// Instance is the id of the running process.
	// +optional
	Instance string `json:"instance,omitempty"`

	// HomeHash is the content hash of the home that the gateway has written and uses.
	// +optional
	HomeHash string `json:"homeHash,omitempty"`

	// Home is the directory of the profile on the gateway's machine.
	// +optional
	Home string `json:"home,omitempty"`
}

// StoreStatus is what is known of a session store.
type StoreStatus struct {
	// SchemaVersion of the database.
	// +optional
	SchemaVersion int32 `json:"schemaVersion,omitempty"`

	// SizeBytes of the database file.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// Sessions stored.
	// +optional
	Sessions int64 `json:"sessions,omitempty"`

	// LastActivity is the time of the last stored message.
	// +optional
	LastActivity *metav1.Time `json:"lastActivity,omitempty"`
}

// CronTickStatus says who runs a profile's scheduled work.
type CronTickStatus struct {
	// Owner is the gateway instance that holds the tick lease.
	// +optional
	Owner string `json:"owner,omitempty"`

	// LastTick is when the owner last looked for due jobs.
	// +optional
	LastTick *metav1.Time `json:"lastTick,omitempty"`

	// NextRun is when the next job is due.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`
}

// Profile is one agent: its model, identity, files, secrets and tools, served by a Gateway.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hprof,categories=hermes
// +kubebuilder:selectablefield:JSONPath=`.spec.gatewayRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.spec.gatewayRef.name`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.model.name`,priority=1
// +kubebuilder:printcolumn:name="Sessions",type=integer,JSONPath=`.status.store.sessions`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9][a-z0-9-]{0,62}$')",message="metadata.name must be at most 63 of a-z, 0-9 and '-', starting with a letter or digit: it becomes the profile's directory",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['hermes', 'test', 'tmp', 'root', 'sudo'])",message="metadata.name is reserved: choose another name than hermes, test, tmp, root or sudo",fieldPath=".metadata"
type Profile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the agent.
	Spec ProfileSpec `json:"spec"`

	// Status is what was observed.
	// +optional
	Status ProfileStatus `json:"status,omitzero"`
}

// ProfileList is a list of Profiles.
// +kubebuilder:object:root=true
type ProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Profile `json:"items"`
}
