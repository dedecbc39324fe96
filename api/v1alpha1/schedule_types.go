package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ScheduleSpec declares a prompt on a clock.
type ScheduleSpec struct {
	// ProfileRef names the Profile that runs the prompt. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="profileRef cannot be changed: create a new Schedule"
	ProfileRef ProfileRef `json:"profileRef"`

	// Schedule says when: five cron fields ("0 9 * * 1-5"), an interval ("30m", "every 2h"), a delay ("in 30m"), days ("weekdays at 9am") or a time ("2027-01-31T09:00").
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`

	// Timezone is the IANA zone in which the schedule is read. Defaults to the profile's.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+/-]+$`
	// +optional
	Timezone string `json:"timezone,omitempty"`

	// Prompt is what the agent is asked at each run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Prompt string `json:"prompt"`

	// Skills to load for the run.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Skills []string `json:"skills,omitempty"`

	// Deliver says where the result goes, for example local, or slack:C123. Empty means local.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Deliver []string `json:"deliver,omitempty"`

	// Repeat is how often a recurring schedule runs before it is done. Empty means for ever.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Repeat *int32 `json:"repeat,omitempty"`

	// Suspend stops runs without deleting anything.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Model to use instead of the profile's.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Model string `json:"model,omitempty"`
}

// ScheduleStatus is what was observed.
type ScheduleStatus struct {
	// ObservedGeneration is the generation of spec that the controller last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, ReferencesResolved, Scheduled; Reconciling and Stalled while true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NextRun is when the prompt runs next.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`

	// LastRun is the newest finished run.
	// +optional
	LastRun *ScheduleRun `json:"lastRun,omitempty"`

	// Active says whether a run is in progress.
	// +optional
	Active bool `json:"active,omitempty"`
}

// ScheduleRun is one finished run.
type ScheduleRun struct {
	// At is when the run began, or ended where the beginning is not known.
	At metav1.Time `json:"at"`
	// Outcome of the run, for example Succeeded, Failed, Skipped or Interrupted.
	// +kubebuilder:validation:MaxLength=64
	Outcome string `json:"outcome"`
	// Lateness is how long after its time the run began.
	// +optional
	Lateness *metav1.Duration `json:"lateness,omitempty"`
}

// Schedule is a prompt on a clock.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hsched,categories=hermes
// +kubebuilder:selectablefield:JSONPath=`.spec.profileRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.profileRef.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextRun`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Schedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the schedule.
	Spec ScheduleSpec `json:"spec"`

	// Status is what was observed.
	// +optional
	Status ScheduleStatus `json:"status,omitzero"`
}

// ScheduleList is a list of Schedules.
// +kubebuilder:object:root=true
type ScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Schedule `json:"items"`
}
