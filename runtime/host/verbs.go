package host

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"
)

// Handler is what a gateway gives to its control socket. Methods are called concurrently, never on the accept loop; a
// panic in one is answered as an error and ends nothing else.
type Handler interface {
	// Identify says which process this is and whom it serves. It must not wait for anything.
	Identify() Identity
	// Status returns the runtime status record. It must not wait for anything.
	Status() Status
	// Rescan reconciles the served set with the profiles on disk now. ctx ends with the server.
	Rescan(ctx context.Context) Rescan
	// Drain starts draining: no new work is accepted, and the answer counts what still runs. ctx ends with the server.
	Drain(ctx context.Context) DrainState
}

// Supervisor says who looks after a gateway process, derived from that process's own launch environment.
type Supervisor string

// The supervisors of G-244.
const (
	SupervisorSystemd  Supervisor = "systemd"
	SupervisorLaunchd  Supervisor = "launchd"
	SupervisorDesktop  Supervisor = "desktop"
	SupervisorExternal Supervisor = "external"
	SupervisorManual   Supervisor = "manual"
)

// CodeIdentity names the code a process runs.
type CodeIdentity struct {
	// CodeSHA is a hash of the executable, "" when unknown.
	CodeSHA string `json:"code_sha,omitempty"`
	// Revision is the version-control revision it was built from, "" when unknown.
	Revision string `json:"revision,omitempty"`
}

// Identity is the result of "identify". A well-formed one is liveness; nothing about the pid is checked on top.
// Implements G-244 and G-248; run_id, instance, revision and api_socket are ours.
type Identity struct {
	Protocol   int        `json:"protocol"`
	Kind       string     `json:"kind"`
	PID        int        `json:"pid"`
	StartTime  int64      `json:"start_time"`
	HermesHome string     `json:"hermes_home"`
	Profile    string     `json:"profile"`
	Supervisor Supervisor `json:"supervisor"`
	CodeIdentity
	// ServedProfiles is present, even when empty, exactly when the gateway multiplexes; nil means that it does not.
	ServedProfiles ServedProfiles `json:"served_profiles,omitzero"`
	// RunID is the identifier the engine gave this run before it spawned the process.
	RunID string `json:"run_id,omitempty"`
	// Instance is the identifier of the Gateway instance, as in status.instance.id.
	Instance string `json:"instance,omitempty"`
	// APISocket is where the gateway serves its local API, "" for nowhere.
	APISocket string `json:"api_socket,omitempty"`
}

// Process returns the identity the gateway claims for its process.
func (i Identity) Process() ProcessID { return ProcessID{PID: i.PID, StartTime: i.StartTime} }

// Served returns the profiles the gateway serves. One that does not multiplex serves exactly its own.
// Implements G-251.
func (i Identity) Served() []string {
	if i.ServedProfiles != nil {
		return slices.Clone(i.ServedProfiles)
	}
	if i.Profile == "" {
		return nil
	}
	return []string{i.Profile}
}

// WellFormed reports whether the answer can be a gateway's.
func (i Identity) WellFormed() bool { return i.Kind == Kind && i.PID > 0 && i.PID <= maxPID }

// ServedProfiles is a list of profile names. Elements may arrive as names or as objects with profile_id or home; both
// are reduced to the name, and anything else is dropped.
// Implements G-244.
type ServedProfiles []string

// UnmarshalJSON never fails on a list; a value that is no list means "not given".
func (s *ServedProfiles) UnmarshalJSON(data []byte) error {
	var elements []json.RawMessage
	if json.Unmarshal(data, &elements) != nil || elements == nil {
		*s = nil
		return nil
	}
	names := make(ServedProfiles, 0, len(elements))
	for _, raw := range elements {
		if name := servedName(raw); name != "" {
			names = append(names, name)
		}
	}
	*s = names
	return nil
}

func servedName(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	fields, ok := parseObject(raw)
	if !ok {
		return ""
	}
	if name := fields.text("profile_id"); name != "" {
		return name
	}
	return profileOfHome(fields.text("home"))
}

// profileOfHome names the profile a home belongs to: <root>/profiles/<name> is <name>, any other home is "default".
func profileOfHome(home string) string {
	if home == "" {
		return ""
	}
	home = filepath.Clean(home)
	if filepath.Base(filepath.Dir(home)) == "profiles" {
		return filepath.Base(home)
	}
	return "default"
}

// Status is the result of "status": the runtime status record and who answered, when.
// Implements G-245.
type Status struct {
	RuntimeState
	Protocol     int    `json:"protocol"`
	AnsweredAt   string `json:"answered_at"`
	AnsweringPID int    `json:"answering_pid"`
}

// NewStatus wraps a runtime state as the answer of process pid at a time.
func NewStatus(state RuntimeState, pid int, now time.Time) Status {
	return Status{RuntimeState: state, Protocol: ControlProtocol, AnsweredAt: stamp(now), AnsweringPID: pid}
}

// Rescan is the result of "rescan-profiles".
// Implements G-246.
type Rescan struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	// Rescanned says whether the served set was reconciled; Reason says why not.
	Rescanned      bool           `json:"rescanned"`
	Reason         string         `json:"reason"`
	ServedProfiles ServedProfiles `json:"served_profiles"`
	// Multiplex is present and false when the process serves only its own profile.
	Multiplex *bool `json:"multiplex,omitempty"`
	// Pending is true while the process has not finished starting.
	Pending bool `json:"pending,omitempty"`
}

// MarshalJSON writes lists as lists even when they are empty.
func (r Rescan) MarshalJSON() ([]byte, error) {
	type plain Rescan
	r.Added, r.Removed, r.ServedProfiles = notNil(r.Added), notNil(r.Removed), notNil(r.ServedProfiles)
	return json.Marshal(plain(r))
}

func notNil[S ~[]string](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// DrainState is the result of "drain".
type DrainState struct {
	// Draining is true once no new work is accepted.
	Draining bool `json:"draining"`
	// AlreadyDraining is true when an earlier request or signal had started it.
	AlreadyDraining bool `json:"already_draining"`
	// ActiveWork counts turns, cron runs and deliveries that still run.
	ActiveWork int `json:"active_work"`
	PID        int `json:"pid"`
	// DrainTimeoutSeconds is how long active work is given.
	DrainTimeoutSeconds float64 `json:"drain_timeout"`
}
