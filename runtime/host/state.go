package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// StateFileName is the runtime status record inside the process home.
const StateFileName = "gateway_state.json"

// StateStaleAfter is the age from which a state record proves nothing about liveness. Whether a gateway is busy or can be
// drained never depends on it.
const StateStaleAfter = 120 * time.Second

// SessionStoreStatus says how the session store is doing.
type SessionStoreStatus string

// The values of session_store.status.
const (
	SessionStoreOK          SessionStoreStatus = "ok"
	SessionStoreUnavailable SessionStoreStatus = "unavailable"
	SessionStoreRetrying    SessionStoreStatus = "retrying"
	SessionStoreUnknown     SessionStoreStatus = "unknown"
)

// SessionStoreState is the member "session_store".
type SessionStoreState struct {
	Status SessionStoreStatus `json:"status"`
}

// RuntimeState is the content of gateway_state.json.
// Implements the keys of G-214.
type RuntimeState struct {
	PIDRecord
	UpdatedAt string `json:"updated_at"`
	CodeIdentity
	GatewayState     string `json:"gateway_state"`
	ExitReason       string `json:"exit_reason,omitempty"`
	RestartRequested bool   `json:"restart_requested"`
	// ActiveAgents counts running turns, ActiveWork everything a drain waits for.
	ActiveAgents int `json:"active_agents"`
	ActiveWork   int `json:"active_work"`
	// ServedProfiles is absent for a gateway that serves one profile.
	ServedProfiles ServedProfiles    `json:"served_profiles,omitempty"`
	SessionStore   SessionStoreState `json:"session_store"`
	// MultiplexStandaloneReason says why a gateway that was asked to multiplex does not.
	MultiplexStandaloneReason string `json:"multiplex_standalone_reason,omitempty"`
	// Platforms is keyed by [PlatformKey].
	Platforms map[string]PlatformState `json:"platforms"`
}

// PlatformState is how one messaging platform of one profile is doing.
type PlatformState struct {
	State           string `json:"state"`
	ErrorCode       string `json:"error_code,omitempty"`
	ErrorMessage    string `json:"error_message,omitempty"`
	NeedsAttention  bool   `json:"needs_attention"`
	RetryingSince   string `json:"retrying_since,omitempty"`
	IngressURL      string `json:"ingress_url,omitempty"`
	ListenerBase    string `json:"listener_base,omitempty"`
	UpdatedAt       string `json:"updated_at"`
	WriterPID       int    `json:"writer_pid"`
	WriterStartTime int64  `json:"writer_start_time"`
}

// PlatformKey returns the key of a platform: bare for the default profile, "<profile>:<platform>" for a named one.
func PlatformKey(profile, platform string) string {
	if profile == "" || profile == "default" {
		return platform
	}
	return profile + ":" + platform
}

// StaleAt reports whether the record is too old, from the future (the clock was set back), or its time unreadable, to
// say anything about liveness.
// Implements G-214.
func (s RuntimeState) StaleAt(now time.Time) bool {
	written, err := time.Parse(time.RFC3339Nano, s.UpdatedAt)
	return err != nil || now.Sub(written).Abs() > StateStaleAfter
}

// ParseState reads a state record. ok is false when the content is none, which counts as stale.
func ParseState(data []byte) (RuntimeState, bool) {
	if _, ok := ParsePIDRecord(data); !ok {
		return RuntimeState{}, false
	}
	var state RuntimeState
	if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &state) != nil {
		return RuntimeState{}, false
	}
	return state, true
}

// ReadState reads the state record of a home. ok is false when there is none.
func ReadState(home string) (RuntimeState, bool) {
	data, err := readSmallFile(filepath.Join(home, StateFileName))
	if err != nil {
		return RuntimeState{}, false
	}
	return ParseState(data)
}

// StateFile owns gateway_state.json of this process's home. It is safe for concurrent use.
type StateFile struct {
	path     string
	identity PIDRecord
	code     CodeIdentity
	clock    clock.PassiveClock

	mu    sync.Mutex
	state RuntimeState
}

// NewStateFile describes the process that writes. It touches no file: the first Update replaces what an earlier process
// left.
func NewStateFile(identity PIDRecord, code CodeIdentity, clk clock.PassiveClock) *StateFile {
	return &StateFile{
		path:     filepath.Join(identity.HermesHome, StateFileName),
		identity: identity,
		code:     code,
		clock:    clk,
		state:    RuntimeState{SessionStore: SessionStoreState{Status: SessionStoreUnknown}, Platforms: map[string]PlatformState{}},
	}
}

// Update changes the state and rewrites the file at once. Every write stamps identity, code and time again. When the
// file cannot be written the change stays in memory and the next write carries it.
// Implements G-214.
func (f *StateFile) Update(change func(*RuntimeState)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.state)
	f.restamp()
	data, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", StateFileName, err)
	}
	if err := writePrivate(f.path, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", StateFileName, err)
	}
	return nil
}

func (f *StateFile) restamp() {
	f.state.PIDRecord = f.identity
	f.state.CodeIdentity = f.code
	f.state.UpdatedAt = stamp(f.clock.Now())
	if f.state.Platforms == nil {
		f.state.Platforms = map[string]PlatformState{}
	}
}

// SetPlatform records how one platform of one profile is doing, signed by this process.
func (f *StateFile) SetPlatform(profile, platform string, state PlatformState) error {
	return f.Update(func(s *RuntimeState) {
		state.UpdatedAt = stamp(f.clock.Now())
		state.WriterPID, state.WriterStartTime = f.identity.PID, f.identity.StartTime
		if s.Platforms == nil {
			s.Platforms = map[string]PlatformState{}
		}
		s.Platforms[PlatformKey(profile, platform)] = state
	})
}

// DropProfile removes the platform entries of a named profile that is no longer served.
// Implements the status part of G-333.
func (f *StateFile) DropProfile(profile string) error {
	return f.Update(func(s *RuntimeState) {
		maps.DeleteFunc(s.Platforms, func(key string, _ PlatformState) bool { return strings.HasPrefix(key, profile+":") })
	})
}

// Snapshot returns a copy of the state as it would be written now, without its own time being moved.
func (f *StateFile) Snapshot() RuntimeState {
	f.mu.Lock()
	defer f.mu.Unlock()
	copied := f.state
	copied.PIDRecord, copied.CodeIdentity = f.identity, f.code
	copied.Argv = slices.Clone(copied.Argv)
	copied.ServedProfiles = slices.Clone(copied.ServedProfiles)
	copied.Platforms = maps.Clone(copied.Platforms)
	return copied
}
