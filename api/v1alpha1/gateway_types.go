package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GatewaySpec declares one process that serves profiles.
// +kubebuilder:validation:XValidation:rule="!has(self.pod) || self.engine == 'Kubernetes'",message="pod is for engine Kubernetes: remove it, or set engine: Kubernetes on a new Gateway",fieldPath=".pod"
// +kubebuilder:validation:XValidation:rule="!has(self.process) || self.engine == 'Process'",message="process is for engine Process: remove it, or set engine: Process on a new Gateway",fieldPath=".process"
type GatewaySpec struct {
	// Engine that runs the gateway: Process (a supervised process on this machine) or Kubernetes (a StatefulSet). It cannot be changed.
	// +kubebuilder:validation:Enum=Process;Kubernetes
	// +kubebuilder:default=Process
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="engine cannot be changed: create a new Gateway and point the profiles at it"
	// +optional
	Engine EngineType `json:"engine,omitempty"`

	// Home is the root directory of the homes this gateway serves: the profile named default lives at the root
	// itself, every other one at profiles/<name> below it. Defaults to gateways/<namespace>/<name> in the data directory.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains('/../') && !self.endsWith('/..')",message="home must be an absolute path without '..', for example /home/me/.hermes"
	// +optional
	Home string `json:"home,omitempty"`

	// AdoptExistingHome lets the gateway take over a home root that already holds somebody's unmanaged home.
	// The files it will write over are copied to backups/ in that home first.
	// +optional
	AdoptExistingHome bool `json:"adoptExistingHome,omitempty"`

	// Backend serves the API over HTTP beside the local socket.
	// +kubebuilder:default={mode: None}
	// +optional
	Backend BackendSpec `json:"backend,omitzero"`

	// Relay connects the gateway to chat platforms through a connector.
	// +optional
	Relay *RelaySpec `json:"relay,omitempty"`

	// DrainTimeout is how long a stop waits for turns in flight. Every outer wait derives from it.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="drainTimeout must be between 0s and 1h"
	// +optional
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// Process holds what only the Process engine uses.
	// +optional
	Process *ProcessSpec `json:"process,omitempty"`

	// Pod holds what only the Kubernetes engine uses.
	// +optional
	Pod *PodSpec `json:"pod,omitempty"`

	// UpdatePolicy says what to do when the installed code differs from the running one.
	// +kubebuilder:default={mode: Automatic}
	// +optional
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitzero"`
}

// EngineType names where a gateway runs.
type EngineType string

const (
	// EngineProcess runs the gateway as a supervised process on this machine.
	EngineProcess EngineType = "Process"
	// EngineKubernetes runs the gateway as a StatefulSet.
	EngineKubernetes EngineType = "Kubernetes"
)

// BackendMode says what the gateway serves over HTTP.
type BackendMode string

const (
	// BackendNone serves nothing over TCP; the local socket stays.
	BackendNone BackendMode = "None"
	// BackendServe serves the API.
	BackendServe BackendMode = "Serve"
	// BackendDashboard serves the API and the web dashboard.
	BackendDashboard BackendMode = "Dashboard"
)

// BackendSpec serves the API over HTTP beside the local socket.
// +kubebuilder:validation:XValidation:rule="self.mode != 'None' || (!has(self.keyFrom))",message="keyFrom has no effect with mode None: set mode Serve or Dashboard, or remove it",fieldPath=".keyFrom"
// +kubebuilder:validation:XValidation:rule="self.mode == 'None' || has(self.keyFrom)",message="a served backend needs keyFrom: the Secret key that clients must send",fieldPath=".keyFrom"
type BackendSpec struct {
	// Mode: None, Serve (the API) or Dashboard (the API and the web dashboard).
	// +kubebuilder:validation:Enum=None;Serve;Dashboard
	// +kubebuilder:default=None
	// +optional
	Mode BackendMode `json:"mode,omitempty"`

	// Host to bind. Requests whose Host header names another host are refused.
	// +kubebuilder:default="127.0.0.1"
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// Port to bind.
	// +kubebuilder:default=9119
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// KeyFrom names the Secret key that holds the API key clients must send as a bearer token.
	// +optional
	KeyFrom *SecretKeyRef `json:"keyFrom,omitempty"`
}

// RelaySpec connects the gateway to chat platforms through a connector.
type RelaySpec struct {
	// ConnectorURL of the relay connector.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['https', 'wss', 'http', 'ws'] && (url(self).getScheme() in ['https', 'wss'] || url(self).getHostname() in ['localhost', '127.0.0.1', '::1', '[::1]'])",message="connectorURL must be https or wss (http and ws only on loopback)"
	ConnectorURL string `json:"connectorURL"`

	// Identity says how the gateway proves who it is to the connector.
	Identity RelayAuth `json:"identity"`
}

// RelayAuth is how a gateway proves who it is. Exactly one is set.
// +kubebuilder:validation:XValidation:rule="(has(self.portal) ? 1 : 0) + (has(self.clientCredentials) ? 1 : 0) + (has(self.ambient) ? 1 : 0) == 1",message="set exactly one of portal, clientCredentials and ambient"
type RelayAuth struct {
	// Portal uses a signed-in account's token.
	// +optional
	Portal *PortalAuth `json:"portal,omitempty"`

	// ClientCredentials uses an OAuth client.
	// +optional
	ClientCredentials *ClientCredentialsAuth `json:"clientCredentials,omitempty"`

	// Ambient uses a token that the platform mounts.
	// +optional
	Ambient *AmbientAuth `json:"ambient,omitempty"`
}

// PortalAuth uses a signed-in account's token.
type PortalAuth struct {
	// TokenFrom names the Secret key that holds the token.
	TokenFrom SecretKeyRef `json:"tokenFrom"`
}

// ClientCredentialsAuth uses an OAuth client.
type ClientCredentialsAuth struct {
	// ClientID of the OAuth client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientID string `json:"clientID"`

	// ClientSecretFrom names the Secret key that holds the client's secret.
	ClientSecretFrom SecretKeyRef `json:"clientSecretFrom"`

	// TokenURL of the authorization server.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (url(self).getScheme() == 'https' || (url(self).getScheme() == 'http' && url(self).getHostname() in ['localhost', '127.0.0.1', '::1', '[::1]']))",message="tokenURL must be https (http only on loopback)"
	TokenURL string `json:"tokenURL"`
}

// AmbientAuth uses a token that the platform mounts.
type AmbientAuth struct {
	// TokenFile is the absolute path of the mounted token.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="tokenFile must be an absolute path"
	TokenFile string `json:"tokenFile"`
}

// ProcessSpec holds what only the Process engine uses.
type ProcessSpec struct {
	// MemoryLimit of the gateway: a soft limit for its own heap, and a hard one for its whole process tree where the machine allows it.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('32Mi')) >= 0",message="memoryLimit must be at least 32Mi"
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`

	// Env are variables of the gateway process. Profiles do not see them.
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []ProcessEnvVar `json:"env,omitempty"`

	// LogDir is where the gateway's logs go. Defaults to a directory of the gateway in the data directory.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="logDir must be an absolute path"
	// +optional
	LogDir string `json:"logDir,omitempty"`
}

// ProcessEnvVar is one variable of a gateway process.
type ProcessEnvVar struct {
	// Name of the variable.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('HERMES_')",message="names that start with HERMES_ are set by the engine: choose another name"
	Name string `json:"name"`

	// Value as written.
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value"`
}

// PodSpec holds what only the Kubernetes engine uses.
type PodSpec struct {
	// Image of the gateway, by tag or digest. Defaults to the operator's own image.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.endsWith(':latest')",message="name a version or a digest: latest changes under a running gateway"
	// +optional
	Image string `json:"image,omitempty"`

	// ImagePullSecrets to fetch the image with.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ImagePullSecrets []LocalRef `json:"imagePullSecrets,omitempty"`

	// Resources of the container.
	// +optional
	Resources *PodResources `json:"resources,omitempty"`

	// Storage of the homes.
	// +optional
	Storage *PodStorage `json:"storage,omitempty"`

	// Scheduling of the pod.
	// +optional
	Scheduling *PodScheduling `json:"scheduling,omitempty"`

	// Security of the pod.
	// +optional
	Security *PodSecurity `json:"security,omitempty"`

	// Overlay is a strategic-merge patch laid over the pod template, for what has no field here.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Overlay *apiextensionsv1.JSON `json:"overlay,omitempty"`
}

// PodResources are the container's requests and limits.
// +kubebuilder:validation:XValidation:rule="!has(self.memoryRequest) || !has(self.memoryLimit) || quantity(string(self.memoryRequest)).compareTo(quantity(string(self.memoryLimit))) <= 0",message="memoryRequest must not be above memoryLimit",fieldPath=".memoryRequest"
// +kubebuilder:validation:XValidation:rule="!has(self.cpuRequest) || !has(self.cpuLimit) || quantity(string(self.cpuRequest)).compareTo(quantity(string(self.cpuLimit))) <= 0",message="cpuRequest must not be above cpuLimit",fieldPath=".cpuRequest"
type PodResources struct {
	// CPURequest of the container.
	// +optional
	CPURequest *resource.Quantity `json:"cpuRequest,omitempty"`
	// CPULimit of the container.
	// +optional
	CPULimit *resource.Quantity `json:"cpuLimit,omitempty"`
	// MemoryRequest of the container.
	// +optional
	MemoryRequest *resource.Quantity `json:"memoryRequest,omitempty"`
	// MemoryLimit of the container.
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`
}

// PodStorage is the volume that holds the homes.
// +kubebuilder:validation:XValidation:rule="!has(self.existingClaim) || (!has(self.size) && !has(self.storageClassName))",message="existingClaim brings its own size and class: remove size and storageClassName",fieldPath=".existingClaim"
type PodStorage struct {
	// Size of the claim. It can grow, not shrink.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="size cannot shrink"
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// StorageClassName of the claim. It cannot be changed.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName cannot be changed"
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
	// ExistingClaim names a claim to use instead of a new one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ExistingClaim string `json:"existingClaim,omitempty"`
}

// PodScheduling places the pod.
type PodScheduling struct {
	// NodeSelector the node must match.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// RuntimeClassName of the pod.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// PriorityClassName of the pod.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// PodSecurity is the identity the pod runs as.
type PodSecurity struct {
	// RunAsUser of the container; any non-root user works.
	// +kubebuilder:validation:Minimum=1
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// FSGroup of the volume.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// UpdateMode says when a gateway is restarted to run newly installed code.
type UpdateMode string

const (
	// UpdateAutomatic restarts the gateway, draining first.
	UpdateAutomatic UpdateMode = "Automatic"
	// UpdateManual reports Current=False and waits for a restart by a person.
	UpdateManual UpdateMode = "Manual"
)

// UpdatePolicy says what to do when the installed code differs from the running one.
type UpdatePolicy struct {
	// Mode: Automatic (drain and restart) or Manual (report and wait).
	// +kubebuilder:validation:Enum=Automatic;Manual
	// +kubebuilder:default=Automatic
	// +optional
	Mode UpdateMode `json:"mode,omitempty"`
}

// GatewayStatus is what the controller and the gateway observed.
type GatewayStatus struct {
	// ObservedGeneration is the generation of spec that the controller last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Running, Current, RelayConnected; Reconciling and Stalled while true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Home is the root directory the gateway uses.
	// +optional
	Home string `json:"home,omitempty"`

	// Instance is the running process or pod.
	// +optional
	Instance *GatewayInstance `json:"instance,omitempty"`

	// Restarts counts unplanned restarts since the last change of spec.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`

	// NextAttempt is when a failed gateway is started again.
	// +optional
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`

	// ServedProfiles is how many profiles the gateway serves, as it reports itself.
	// +optional
	ServedProfiles *int32 `json:"servedProfiles,omitempty"`

	// Profiles lists the served profiles by name, at most 256 of them.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Profiles []string `json:"profiles,omitempty"`
}

// GatewayInstance is one run of a gateway.
type GatewayInstance struct {
	// ID of this run; a restart makes a new one.
	ID string `json:"id"`
	// PID of the process, with engine Process.
	// +optional
	PID int64 `json:"pid,omitempty"`
	// Pod name, with engine Kubernetes.
	// +optional
	Pod string `json:"pod,omitempty"`
	// StartedAt is when this run began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Revision of the code this run executes.
	// +optional
	Revision string `json:"revision,omitempty"`
	// APISocket is the path of the local API socket, with engine Process.
	// +optional
	APISocket string `json:"apiSocket,omitempty"`
}

// Gateway is one process that serves profiles.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hgw,categories=hermes
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`
// +kubebuilder:printcolumn:name="Profiles",type=integer,JSONPath=`.status.servedProfiles`
// +kubebuilder:printcolumn:name="PID",type=integer,JSONPath=`.status.instance.pid`,priority=1
// +kubebuilder:printcolumn:name="Home",type=string,JSONPath=`.status.home`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters",fieldPath=".metadata"
type Gateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the gateway.
	// +kubebuilder:default={}
	// +optional
	Spec GatewaySpec `json:"spec,omitzero"`

	// Status is what was observed.
	// +optional
	Status GatewayStatus `json:"status,omitzero"`
}

// GatewayList is a list of Gateways.
// +kubebuilder:object:root=true
type GatewayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gateway `json:"items"`
}
