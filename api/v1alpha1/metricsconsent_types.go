package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MetricsConsentSpec is what one profile's owner agreed to. No object means no consent.
// +kubebuilder:validation:XValidation:rule="!self.send || self.collect",message="send needs collect: set collect: true, or send: false",fieldPath=".send"
type MetricsConsentSpec struct {
	// ProfileRef names the Profile this consent is for. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="profileRef cannot be changed: consent is given for one profile"
	ProfileRef ProfileRef `json:"profileRef"`

	// Collect counts usage locally. Nothing leaves the machine.
	// +kubebuilder:default=false
	// +optional
	Collect bool `json:"collect"`

	// Send transmits daily packages of the counts to the endpoint.
	// +kubebuilder:default=false
	// +optional
	Send bool `json:"send"`

	// Endpoint that receives packages. Empty: nothing can be sent until someone names one.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (url(self).getScheme() == 'https' || (url(self).getScheme() == 'http' && url(self).getHostname() in ['localhost', '127.0.0.1', '::1', '[::1]']))",message="endpoint must be https (http only on localhost, 127.0.0.1 or ::1)"
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// MetricsConsentStatus is what was recorded and sent.
type MetricsConsentStatus struct {
	// ObservedGeneration is the generation of spec that the controller last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Recorded, Delivering; Reconciling and Stalled while true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Window is the newest consent window.
	// +optional
	Window *ConsentWindow `json:"window,omitempty"`

	// Windows counts the recorded consent windows.
	// +optional
	Windows int32 `json:"windows,omitempty"`

	// Pending counts packages that wait to be sent.
	// +optional
	Pending int32 `json:"pending,omitempty"`

	// Sent counts packages the endpoint took.
	// +optional
	Sent int32 `json:"sent,omitempty"`

	// Rejected counts packages the endpoint refused.
	// +optional
	Rejected int32 `json:"rejected,omitempty"`
}

// ConsentWindow is one interval during which sending was agreed to.
type ConsentWindow struct {
	// State: Open or Closed.
	// +kubebuilder:validation:Enum=Open;Closed
	State string `json:"state"`
	// OpenedAt is when consent was first observed.
	// +optional
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`
	// LastConfirmedAt is when consent was last observed.
	// +optional
	LastConfirmedAt *metav1.Time `json:"lastConfirmedAt,omitempty"`
	// ClosedAt is when consent was observed to be gone.
	// +optional
	ClosedAt *metav1.Time `json:"closedAt,omitempty"`
}

// MetricsConsent is what one profile's owner agreed to about usage metrics.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hmc,categories=hermes
// +kubebuilder:selectablefield:JSONPath=`.spec.profileRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.profileRef.name`
// +kubebuilder:printcolumn:name="Collect",type=boolean,JSONPath=`.spec.collect`
// +kubebuilder:printcolumn:name="Send",type=boolean,JSONPath=`.spec.send`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MetricsConsent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what was agreed to.
	Spec MetricsConsentSpec `json:"spec"`

	// Status is what was recorded and sent.
	// +optional
	Status MetricsConsentStatus `json:"status,omitzero"`
}

// MetricsConsentList is a list of MetricsConsents.
// +kubebuilder:object:root=true
type MetricsConsentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MetricsConsent `json:"items"`
}
