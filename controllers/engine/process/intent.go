package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/controllers/engine"
)

const (
	intentFileName = "intent.json"
	intentVersion  = 1
)

// desiredState is what a workload is meant to be.
type desiredState string

const (
	desiredRunning desiredState = "Running"
	desiredStopped desiredState = "Stopped"
)

// spawnState says how far a start got when the intent was last written.
type spawnState string

const (
	// spawnIntended: a process may or may not exist.
	spawnIntended spawnState = "Intended"
	// spawnRecorded: the process exists or existed, and its identity is recorded.
	spawnRecorded spawnState = "Recorded"
)

// intent is what the engine remembers of one workload across its own death.
// What is wanted is kept apart from what was seen.
type intent struct {
	Version int     `json:"version"`
	Desired desired `json:"desired"`
	Seen    seen    `json:"observed"`
}

// desired is the wanted state.
type desired struct {
	State        desiredState  `json:"state"`
	UID          types.UID     `json:"uid"`
	Settings     settings      `json:"settings,omitempty"`
	RestartToken string        `json:"restartToken,omitempty"`
	DrainTimeout time.Duration `json:"drainTimeoutNanoseconds"`
}

// seen is the last observed state.
type seen struct {
	// Run is the current run, nil when none is.
	Run *run `json:"run,omitempty"`
	// Restarts since the workload last changed.
	Restarts int32 `json:"restarts,omitempty"`
	// Failures in a row; they set the pause.
	Failures int `json:"failures,omitempty"`
	// NextAttempt is when the next start is due, zero when none is planned.
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	// LastExit that nobody asked for, nil when there was none since the workload last changed.
	LastExit *exitRecord `json:"lastExit,omitempty"`
	// Logs of the latest runs, oldest first.
	Logs []string `json:"logs,omitempty"`
}

// run is one spawned (or about to be spawned) gateway process.
type run struct {
	ID    string     `json:"id"`
	State spawnState `json:"state"`
	// PID, StartTime (kernel ticks), BootID and Exe are the process's identity once State is Recorded.
	PID       int       `json:"pid,omitempty"`
	StartTime int64     `json:"startTime,omitempty"`
	BootID    string    `json:"bootID,omitempty"`
	Exe       string    `json:"exe,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// ReadyAt is when the run first answered, zero before.
	ReadyAt time.Time `json:"readyAt,omitzero"`
	// Home, LogFile, Cgroup, Settings, RestartToken and Revision are what the run was started with.
	Home         string   `json:"home"`
	LogFile      string   `json:"logFile"`
	Cgroup       string   `json:"cgroup,omitempty"`
	Settings     settings `json:"settings"`
	RestartToken string   `json:"restartToken,omitempty"`
	Revision     string   `json:"revision,omitempty"`
	// Confinement says what is limited and how, for people; "" without a limit.
	Confinement string `json:"confinement,omitempty"`
	// Stopping is set before the engine asks the run to end, so that its end is known to be asked for.
	Stopping bool `json:"stopping,omitempty"`
}

// exitRecord is the end of a run that nobody asked for.
type exitRecord struct {
	RunID   string    `json:"runID"`
	At      time.Time `json:"at"`
	Class   exitClass `json:"class"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	// Settings, RestartToken and Revision of the run: a refusal stands until one of them changes.
	Settings     settings `json:"settings"`
	RestartToken string   `json:"restartToken,omitempty"`
	Revision     string   `json:"revision,omitempty"`
}

// intentStore keeps intents below one directory, <dir>/<namespace>/<name>/intent.json.
type intentStore struct{ dir string }

func (s intentStore) workloadDir(ref engine.Ref) string {
	return filepath.Join(s.dir, ref.Namespace, ref.Name)
}

// load returns the remembered intent. found is false when there is none. An
// intent that cannot be understood is set aside for people and counts as none:
// the process itself, asked over its socket, is the better witness.
func (s intentStore) load(ref engine.Ref) (in intent, found bool, err error) {
	path := filepath.Join(s.workloadDir(ref), intentFileName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return intent{}, false, nil
	}
	if err != nil {
		return intent{}, false, fmt.Errorf("read intent of %s: %w", ref, err)
	}
	in, err = parseIntent(data)
	if err != nil {
		if err := os.Rename(path, path+".damaged"); err != nil {
			return intent{}, false, fmt.Errorf("set a damaged intent of %s aside: %w", ref, err)
		}
		return intent{}, false, nil
	}
	return in, true, nil
}

func parseIntent(data []byte) (intent, error) {
	var in intent
	if err := json.Unmarshal(data, &in); err != nil {
		return intent{}, fmt.Errorf("intent is no JSON object: %w", err)
	}
	if in.Version != intentVersion {
		return intent{}, fmt.Errorf("intent has version %d, this program writes %d", in.Version, intentVersion)
	}
	if in.Seen.Run != nil && in.Seen.Run.ID == "" {
		return intent{}, errors.New("intent names a run without id")
	}
	return in, nil
}

// save makes the intent durable: file and directory are synced before it returns.
// Implements guarantee G3.
func (s intentStore) save(ref engine.Ref, in intent) error {
	in.Version = intentVersion
	data, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return fmt.Errorf("encode intent of %s: %w", ref, err)
	}
	dir := s.workloadDir(ref)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory of %s: %w", ref, err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, intentFileName), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write intent of %s: %w", ref, err)
	}
	return syncDir(dir)
}

// remove forgets a workload. Its logs stay.
func (s intentStore) remove(ref engine.Ref) error {
	dir := s.workloadDir(ref)
	if err := os.Remove(filepath.Join(dir, intentFileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", ref, err)
	}
	// Succeeds only when no logs are left there, which is the intention.
	_ = os.Remove(dir)
	return nil
}

// list names every workload with an intent.
func (s intentStore) list() ([]engine.Ref, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*", "*", intentFileName))
	if err != nil {
		return nil, fmt.Errorf("list intents: %w", err)
	}
	refs := make([]engine.Ref, 0, len(files))
	for _, file := range files {
		dir := filepath.Dir(file)
		refs = append(refs, engine.Ref{Namespace: filepath.Base(filepath.Dir(dir)), Name: filepath.Base(dir)})
	}
	return refs, nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}
