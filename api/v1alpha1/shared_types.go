package v1alpha1

// SecretKeyRef names one key of a Secret in the same namespace.
type SecretKeyRef struct {
	// Name of the Secret, in the namespace of the object that refers to it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key inside the Secret's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ConfigMapKeyRef names one key of a ConfigMap in the same namespace.
type ConfigMapKeyRef struct {
	// Name of the ConfigMap, in the namespace of the object that refers to it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key inside the ConfigMap's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ValueSource takes a value from a Secret or a ConfigMap. Exactly one is set.
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="set exactly one of secretKeyRef and configMapKeyRef"
type ValueSource struct {
	// SecretKeyRef takes the value from a Secret.
	// +optional
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`

	// ConfigMapKeyRef takes the value from a ConfigMap.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
}

// FileSource is the content of one declared file: inline text, or a reference.
// +kubebuilder:validation:XValidation:rule="has(self.content) != has(self.from)",message="set exactly one of content (text) and from (a Secret or ConfigMap key)"
type FileSource struct {
	// Content is the file's text as written.
	// +kubebuilder:validation:MaxLength=262144
	// +optional
	Content *string `json:"content,omitempty"`

	// From takes the file's bytes from a Secret or ConfigMap key; a change there reaches the file without a restart.
	// +optional
	From *ValueSource `json:"from,omitempty"`
}

// EnvVar is one variable of a profile's environment.
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.valueFrom))",message="set value or valueFrom, not both"
type EnvVar struct {
	// Name of the variable. HERMES_ names are set by the runtime and refused.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('HERMES_')",message="names that start with HERMES_ are set by the runtime: choose another name"
	Name string `json:"name"`

	// Value as written. Put secrets in a Secret and use valueFrom.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Value *string `json:"value,omitempty"`

	// ValueFrom takes the value from a Secret or ConfigMap key.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// EnvFromSource takes every key of a Secret or ConfigMap as a variable.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.configMapRef)",message="set exactly one of secretRef and configMapRef"
type EnvFromSource struct {
	// Prefix put before each key.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// SecretRef names the Secret whose keys become variables.
	// +optional
	SecretRef *LocalRef `json:"secretRef,omitempty"`

	// ConfigMapRef names the ConfigMap whose keys become variables.
	// +optional
	ConfigMapRef *LocalRef `json:"configMapRef,omitempty"`
}

// LocalRef names an object in the same namespace.
type LocalRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ToolFilter selects tools by name or glob. Include beats exclude; an empty include means all.
type ToolFilter struct {
	// Include lists the tools to offer, as exact names or globs.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	Include []string `json:"include,omitempty"`

	// Exclude lists the tools to leave out when include is empty.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	Exclude []string `json:"exclude,omitempty"`
}
