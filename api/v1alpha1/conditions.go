package v1alpha1

// Condition types. Ready sums up the others; Reconciling and Stalled follow
// kstatus and are present only while true.
const (
	// ConditionReady is True when the object does what its spec declares.
	ConditionReady = "Ready"
	// ConditionReconciling is present while the object is on its way to Ready.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present while only a change by a person can help.
	ConditionStalled = "Stalled"

	// ConditionReferencesResolved says whether every object a Profile or Schedule refers to exists and holds what is needed.
	ConditionReferencesResolved = "ReferencesResolved"
	// ConditionHomeRendered says whether the Profile's home was rendered into its Secret.
	ConditionHomeRendered = "HomeRendered"
	// ConditionServed says whether a gateway has the Profile open with the current home. Reported by the gateway.
	ConditionServed = "Served"
	// MessageServed begins the message of a true Served, where " in HOME" may follow; what comes after that is worth showing.
	MessageServed = "open"
	// ConditionBackedUp says whether a Profile with spec.backup has the copies it declares. Reported by the gateway.
	ConditionBackedUp = "BackedUp"
	// ConditionCronTickOwned says whether a gateway instance owns the Profile's cron tick.
	ConditionCronTickOwned = "CronTickOwned"

	// ConditionRunning says whether a Gateway's process or pod runs and answers.
	ConditionRunning = "Running"
	// ConditionCurrent says whether a Gateway runs the code that is installed.
	ConditionCurrent = "Current"
	// ConditionRelayConnected says whether a Gateway's relay connection had a round trip lately.
	ConditionRelayConnected = "RelayConnected"

	// ConditionProvisioned says whether a RelayIdentity is known to the connector.
	ConditionProvisioned = "Provisioned"
	// ConditionAdvertised says whether the gateway advertised a RelayIdentity on its connection.
	ConditionAdvertised = "Advertised"
	// ConditionConnected says whether a RelayIdentity's connection had a round trip lately.
	ConditionConnected = "Connected"

	// ConditionRecorded says whether a MetricsConsent reached the profile's own consent windows.
	ConditionRecorded = "Recorded"
	// ConditionDelivering says whether packages can be sent, and why not.
	ConditionDelivering = "Delivering"

	// ConditionScheduled says whether a Schedule is in its profile's job store.
	ConditionScheduled = "Scheduled"
)

// Labels and annotations that the controllers and the gateway set.
const (
	// LabelGateway on a home Secret names the Gateway that may read it.
	LabelGateway = "hermes.dev/gateway"
	// LabelProfile on a child names its Profile.
	LabelProfile = "hermes.dev/profile"
	// LabelAppliedBy on an object says which verb applied it; hermes up --manifests prunes only its own.
	LabelAppliedBy = "hermes.dev/applied-by"
	// AnnotationHomeHash on a home Secret is the content hash of the rendered home.
	AnnotationHomeHash = "hermes.dev/home-hash"
	// AnnotationRestartedAt on a Gateway asks for one drained restart each time it changes.
	AnnotationRestartedAt = "hermes.dev/restarted-at"
	// FinalizerHome holds a Profile back until its home is handled by its deletion policy.
	FinalizerHome = "hermes.dev/home"
	// FinalizerProcess holds a Gateway back until its process is gone.
	FinalizerProcess = "hermes.dev/process"
	// HomeSecretPrefix and the profile's name make the name of its home Secret.
	HomeSecretPrefix = "hermes-home-"
	// HomeSecretKey is the one key of a home Secret.
	HomeSecretKey = "home.json"
	// HomeSecretType is the type of a home Secret.
	HomeSecretType = "hermes.dev/home"
	// DefaultGatewayName is the Gateway a Profile uses when it names none.
	DefaultGatewayName = "default"
)
