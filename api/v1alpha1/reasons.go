package v1alpha1

// Reasons of conditions and events. They are stable: people and scripts match
// on them. docs/reasons.md is generated from these comments; a test proves each
// one is reachable.
//
// The comment of a reason is one sentence of what it means, then "Remedy:" and
// what to do.
const (
	// ReasonReady means the object does what its spec declares. Remedy: none needed.
	ReasonReady = "Ready"
	// ReasonReconciling means the object is on its way and nothing is wrong so far. Remedy: wait.
	ReasonReconciling = "Reconciling"
	// ReasonSuspended means spec.suspended of a Profile, or spec.suspend of a Schedule, is set: the profile is closed, or the job paused. Remedy: set it to false.
	ReasonSuspended = "Suspended"
	// ReasonDeleting means the object is being deleted and its parts are being taken down. Remedy: wait.
	ReasonDeleting = "Deleting"

	// ReasonResolved means every referenced object exists and holds what is needed. Remedy: none needed.
	ReasonResolved = "Resolved"
	// ReasonGatewayNotFound means the Gateway named by spec.gatewayRef does not exist. Remedy: create it or name another one.
	ReasonGatewayNotFound = "GatewayNotFound"
	// ReasonSecretNotFound means a referenced Secret does not exist. Remedy: create the Secret.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonCredentialMissing means a referenced Secret has no such key or an empty value, or the model's provider needs a key and none is declared. Remedy: put the value into the Secret, and name it in spec.model.credentials.
	ReasonCredentialMissing = "CredentialMissing"
	// ReasonConfigMapNotFound means a referenced ConfigMap or its key does not exist. Remedy: create it.
	ReasonConfigMapNotFound = "ConfigMapNotFound"

	// ReasonRendered means the home was rendered into its Secret. Remedy: none needed.
	ReasonRendered = "Rendered"
	// ReasonConfigInvalid means spec.config cannot be laid over config.yaml, or the config.yaml on disk is no YAML text. Remedy: change the named key; correct the named file, or move it away: that is noticed.
	ReasonConfigInvalid = "ConfigInvalid"
	// ReasonPathInvalid means a declared file path leaves its directory or names a file the runtime owns. Remedy: change the path.
	ReasonPathInvalid = "PathInvalid"
	// ReasonHomeTooLarge means the rendered home does not fit into one Secret (1 MiB). Remedy: declare fewer or smaller files.
	ReasonHomeTooLarge = "HomeTooLarge"
	// ReasonForeignObject means an object of the needed name exists and belongs to someone else. Remedy: rename or delete that object.
	ReasonForeignObject = "ForeignObject"

	// ReasonServed means the gateway has the profile open with the current home. Remedy: none needed.
	ReasonServed = "Served"
	// ReasonClosed means the gateway closed the profile and let go of its home. Remedy: none needed.
	ReasonClosed = "Closed"
	// ReasonWaitingForGateway means no gateway has reported on this profile yet, or its gateway is down. Remedy: look at the Gateway.
	ReasonWaitingForGateway = "WaitingForGateway"
	// ReasonHomeWriteFailed means the gateway could not write the home. Remedy: fix the named path's permissions or free disk space.
	ReasonHomeWriteFailed = "HomeWriteFailed"
	// ReasonFileConflict means a declared file exists on disk and was made by someone else. Remedy: move the named file away, or set adoptExistingHome on the Gateway.
	ReasonFileConflict = "FileConflict"
	// ReasonHomeInUse means another Profile or process owns this home. Remedy: use the profile that the message names, or another home.
	ReasonHomeInUse = "HomeInUse"
	// ReasonStoreCorrupt means the session store is damaged; it was left as it is. Remedy: restore a backup or move the file away.
	ReasonStoreCorrupt = "StoreCorrupt"
	// ReasonStoreUnavailable means the session store cannot be opened or written. Remedy: see the message; a lock, a full disk or another process that is gone clears it within 30 s.
	ReasonStoreUnavailable = "StoreUnavailable"
	// ReasonRuntimeFailed means the profile's runtime crashed and is restarted with back-off. Remedy: see the message; the other profiles are not affected.
	ReasonRuntimeFailed = "RuntimeFailed"
	// ReasonModelRefused means the model's provider refused the last turn: the key, the account or the model is not accepted. Remedy: change what the message names; a new key or setting, or a turn that succeeds, clears it; a restart does not.
	ReasonModelRefused = "ModelRefused"
	// ReasonModelUnreachable means the model did not answer the last turn, also after retries: no connection, a timeout or a server error. Remedy: start or reach the server that the message names, then say something; a new key or setting, or a turn that succeeds, clears it; a restart does not.
	ReasonModelUnreachable = "ModelUnreachable"

	// ReasonBackedUp means the newest backup of the profile is verified and no scheduled one is missing. Remedy: none needed.
	ReasonBackedUp = "BackedUp"
	// ReasonBackupPending means the profile's first backup has not been made yet. Remedy: wait.
	ReasonBackupPending = "BackupPending"
	// ReasonBackupFailed means the last scheduled backup could not be made or did not pass its check; older ones are untouched. Remedy: change what the message names; it is tried again after 15 minutes.
	ReasonBackupFailed = "BackupFailed"

	// ReasonRunning means the gateway's process runs and answers. Remedy: none needed.
	ReasonRunning = "Running"
	// ReasonStarting means the process was started and has not answered yet. Remedy: wait.
	ReasonStarting = "Starting"
	// ReasonDraining means the gateway finishes the turns in flight before it stops. Remedy: wait.
	ReasonDraining = "Draining"
	// ReasonCrashLoop means the process ended by itself and is started again with back-off. Remedy: see the last lines of its log in the message.
	ReasonCrashLoop = "CrashLoop"
	// ReasonOutOfMemory means the process was ended for using more memory than its limit. Remedy: raise spec.process.memoryLimit.
	ReasonOutOfMemory = "OutOfMemory"
	// ReasonConfigurationRefused means the process refused its configuration (exit 78) and waits for a change. Remedy: change what the message names.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonHostOwnedElsewhere means another gateway that this operator does not manage serves the home root. Remedy: stop it, or use another home.
	ReasonHostOwnedElsewhere = "HostOwnedElsewhere"
	// ReasonHomeNotOurs means the home root holds somebody's unmanaged home. Remedy: use another spec.home, set spec.adoptExistingHome (a backup is made first), or move the home away: that is noticed within seconds.
	ReasonHomeNotOurs = "HomeNotOurs"
	// ReasonHomeUnwritable means the home root cannot be created or written. Remedy: fix the path or its permissions.
	ReasonHomeUnwritable = "HomeUnwritable"
	// ReasonHomeClaimed means another Gateway claims the same home root. Remedy: give one of them another spec.home.
	ReasonHomeClaimed = "HomeClaimed"
	// ReasonEngineUnavailable means this operator has no such engine. Remedy: use an engine that this installation offers.
	ReasonEngineUnavailable = "EngineUnavailable"
	// ReasonNotResponding means the process is alive and does not answer its control socket. Remedy: it is restarted when it stays so.
	ReasonNotResponding = "NotResponding"

	// ReasonCurrent means the gateway runs the installed code and settings. Remedy: none needed.
	ReasonCurrent = "Current"
	// ReasonOutdated means the gateway runs older code or settings than installed. Remedy: restart it, or set updatePolicy.mode to Automatic.
	ReasonOutdated = "Outdated"

	// ReasonProfileNotFound means the Profile named by spec.profileRef does not exist. Remedy: create it or name another one.
	ReasonProfileNotFound = "ProfileNotFound"
	// ReasonProfileNotServed means the Schedule's Profile is not open in its gateway, so nothing runs. Remedy: look at the Profile; the message has its reason.
	ReasonProfileNotServed = "ProfileNotServed"
	// ReasonScheduled means the Schedule's job is in its profile's job store as declared. Remedy: none needed.
	ReasonScheduled = "Scheduled"
	// ReasonCompleted means the Schedule's job has run as often as it should. Remedy: none needed; delete it, or change its schedule or repeat to run it again.
	ReasonCompleted = "Completed"
	// ReasonScheduleInvalid means spec.schedule of a Schedule is not understood; a job that was declared before stays as it was. Remedy: write it in one of the forms that the message lists.
	ReasonScheduleInvalid = "ScheduleInvalid"
	// ReasonTimezoneInvalid means spec.timezone of a Schedule is no known zone; a job that was declared before stays as it was. Remedy: name an IANA zone such as Europe/Berlin.
	ReasonTimezoneInvalid = "TimezoneInvalid"
	// ReasonDeliverInvalid means an entry of spec.deliver of a Schedule is no target; a job that was declared before stays as it was. Remedy: write local, origin, all, bot-chat, a platform, or a platform and a chat.
	ReasonDeliverInvalid = "DeliverInvalid"
	// ReasonJobRefused means the job store does not take the job, for example a prompt that would stop its own gateway, or a time that has passed. Remedy: change what the message names.
	ReasonJobRefused = "JobRefused"
	// ReasonJobStoreUnavailable means the profile's job file cannot be read or written; it was left as it is. Remedy: correct the named file or move it away: it is tried again.
	ReasonJobStoreUnavailable = "JobStoreUnavailable"
	// ReasonNotImplemented means this version accepts the object and does not act on it yet. Remedy: use a version that does.
	ReasonNotImplemented = "NotImplemented"
)
