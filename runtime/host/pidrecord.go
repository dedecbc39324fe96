package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Kind is the value of "kind" in every identity this package writes.
const Kind = "hermes-gateway"

// File names inside a home.
const (
	PIDFileName  = "gateway.pid"
	LockFileName = "gateway.lock"
)

// ErrPIDFileExists means that another start created gateway.pid first. What to do about it is the caller's decision.
var ErrPIDFileExists = errors.New("gateway.pid already exists")

// PIDRecord is the content of gateway.pid and gateway.lock: which process runs for which home.
// Implements the keys of G-211.
type PIDRecord struct {
	Kind string   `json:"kind"`
	PID  int      `json:"pid"`
	Argv []string `json:"argv"`
	// StartTime is the fingerprint of [ProcessID], 0 when unknown.
	StartTime int64 `json:"start_time"`
	// HermesHome is the process home, never a routed profile's.
	HermesHome string `json:"hermes_home"`
}

// Process returns the identity the record claims.
func (r PIDRecord) Process() ProcessID { return ProcessID{PID: r.PID, StartTime: r.StartTime} }

// NewPIDRecord describes this process as the gateway of home.
func NewPIDRecord(home string, argv []string) PIDRecord {
	pid := os.Getpid()
	return PIDRecord{Kind: Kind, PID: pid, Argv: argv, StartTime: Observe(pid).StartTime, HermesHome: home}
}

// ParsePIDRecord reads a pid record tolerantly. ok is false when the content names no gateway process: another kind, or
// a pid that is not a positive integer. Other members of a wrong type count as missing.
// Implements G-211 and Q-20.
func ParsePIDRecord(data []byte) (PIDRecord, bool) {
	fields, ok := parseObject(data)
	if !ok {
		return PIDRecord{}, false
	}
	pid, ok := fields.pid("pid")
	if !ok || fields.text("kind") != Kind {
		return PIDRecord{}, false
	}
	start, _ := fields.integer("start_time")
	return PIDRecord{
		Kind:       Kind,
		PID:        pid,
		Argv:       fields.texts("argv"),
		StartTime:  max(start, 0),
		HermesHome: fields.text("hermes_home"),
	}, true
}

// maxPID bounds what may name a process: kernels keep pids in 32 signed bits.
const maxPID = 1<<31 - 1

// pid returns a member that can name a process.
func (f jsonFields) pid(key string) (int, bool) {
	n, ok := f.integer(key)
	if !ok || n < 1 || n > maxPID {
		return 0, false
	}
	return int(n), true
}

// ReadPIDFile reads the pid record of a home. ok is false when there is none.
func ReadPIDFile(home string) (PIDRecord, bool) {
	data, err := readSmallFile(filepath.Join(home, PIDFileName))
	if err != nil {
		return PIDRecord{}, false
	}
	return ParsePIDRecord(data)
}

// CreatePIDFile creates gateway.pid in home exclusively; the loser of a race gets [ErrPIDFileExists]. The file appears
// with its content: it is written beside its place and linked there, or, where the filesystem has no links, created in
// place.
// Implements G-211.
func CreatePIDFile(home string, record PIDRecord) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode pid record: %w", err)
	}
	err = createExclusive(filepath.Join(home, PIDFileName), append(data, '\n'))
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrPIDFileExists
	case err != nil:
		return fmt.Errorf("create %s: %w", PIDFileName, err)
	}
	return nil
}

// RemovePIDFile removes gateway.pid from home when it names exactly the given process, and reports whether it did.
func RemovePIDFile(home string, owner ProcessID) (bool, error) {
	return removeIf(filepath.Join(home, PIDFileName), func(data []byte) bool {
		record, ok := ParsePIDRecord(data)
		return ok && record.Process() == owner
	})
}
