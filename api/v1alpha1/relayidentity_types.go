package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RelayIdentitySpec declares one platform identity that a gateway answers as over the relay.
// +kubebuilder:validation:XValidation:rule="!has(self.slack) || self.platform == 'slack'",message="slack settings are for platform slack: remove them, or set platform: slack",fieldPath=".slack"
type RelayIdentitySpec struct {
	// GatewayRef names the Gateway that answers.
	// +kubebuilder:default={name: default}
	// +optional
	GatewayRef GatewayRef `json:"gatewayRef,omitzero"`

	// ProfileRef names the Profile that answers.
	ProfileRef ProfileRef `json:"profileRef"`

	// Platform the identity lives on, for example slack, discord or telegram. It cannot be changed.
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]{0,31}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="platform cannot be changed: create a new RelayIdentity"
	Platform string `json:"platform"`

	// BotID of the identity on its platform. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="botID cannot be changed: create a new RelayIdentity"
	BotID string `json:"botID"`

	// BotUsername is the name people see and mention.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	BotUsername string `json:"botUsername,omitempty"`

	// RouteKeys select which conversations of the platform come here.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	RouteKeys []string `json:"routeKeys,omitempty"`

	// Relevance says which messages are meant for the agent.
	// +optional
	Relevance *RelevanceSpec `json:"relevance,omitempty"`

	// Slack holds what only Slack has.
	// +optional
	Slack *SlackSpec `json:"slack,omitempty"`

	// HomeChannel is where unprompted messages go.
	// +optional
	HomeChannel *HomeChannelSpec `json:"homeChannel,omitempty"`
}

// RelevanceSpec says which messages are meant for the agent.
type RelevanceSpec struct {
	// RequireMention answers in shared channels only when the agent is mentioned.
	// +kubebuilder:default=true
	// +optional
	RequireMention *bool `json:"requireMention,omitempty"`

	// FreeResponseChannels are channels in which no mention is needed.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	FreeResponseChannels []string `json:"freeResponseChannels,omitempty"`

	// AllowBots answers messages of other bots.
	// +optional
	AllowBots bool `json:"allowBots,omitempty"`
}

// SlackSpec holds what only Slack has.
type SlackSpec struct {
	// ReplyInThread answers a channel message in a thread under it.
	// +optional
	ReplyInThread *bool `json:"replyInThread,omitempty"`

	// DMTopLevelThreadsAsSessions gives each top-level direct message a session of its own.
	// +optional
	DMTopLevelThreadsAsSessions *bool `json:"dmTopLevelThreadsAsSessions,omitempty"`
}

// HomeChannelSpec is where unprompted messages go.
type HomeChannelSpec struct {
	// ChatID of the channel.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ChatID string `json:"chatID"`

	// ThreadID inside the channel.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ThreadID string `json:"threadID,omitempty"`
}

// RelayIdentityStatus is what was observed.
type RelayIdentityStatus struct {
	// ObservedGeneration is the generation of spec that the controller last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Provisioned, Advertised, Connected; Reconciling and Stalled while true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Descriptor is what the connector said of this identity.
	// +optional
	Descriptor *RelayDescriptor `json:"descriptor,omitempty"`

	// GatewayID is the gateway's id at the connector.
	// +optional
	GatewayID string `json:"gatewayID,omitempty"`
}

// RelayDescriptor is what the connector said of an identity.
type RelayDescriptor struct {
	// Platform the connector serves.
	// +optional
	Platform string `json:"platform,omitempty"`
	// MaxMessageLength in characters.
	// +optional
	MaxMessageLength int32 `json:"maxMessageLength,omitempty"`
	// SupportsThreads says whether the platform has threads.
	// +optional
	SupportsThreads bool `json:"supportsThreads,omitempty"`
	// SupportedOps lists the operations the connector offers.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	SupportedOps []string `json:"supportedOps,omitempty"`
}

// RelayIdentity is one platform identity that a gateway answers as over the relay.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hri,categories=hermes
// +kubebuilder:selectablefield:JSONPath=`.spec.gatewayRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Platform",type=string,JSONPath=`.spec.platform`
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.profileRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelayIdentity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the identity.
	Spec RelayIdentitySpec `json:"spec"`

	// Status is what was observed.
	// +optional
	Status RelayIdentityStatus `json:"status,omitzero"`
}

// RelayIdentityList is a list of RelayIdentities.
// +kubebuilder:object:root=true
type RelayIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelayIdentity `json:"items"`
}
