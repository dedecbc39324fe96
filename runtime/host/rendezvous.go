package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// RendezvousConfig says where one role's rendezvous files are and how to judge them.
type RendezvousConfig struct {
	// Dir is the per-user directory, see [RendezvousDir].
	Dir string
	// Role names the files: host-<role>.json, .lock and .token.
	Role Role
	// DefaultRoot is the home of records that name none.
	DefaultRoot string
	// UID is the user whose files are trusted.
	UID int
	// Clock stamps records.
	Clock clock.PassiveClock
	// Log receives what is ignored and why.
	Log logr.Logger
	// Observe asks about a pid; nil means [Observe].
	Observe func(pid int) Observation
}

// Rendezvous is one process's view of, and claim on, a role on this host. It is safe for concurrent use.
// The lock is held per Rendezvous: a second value in the same process contends like another process would.
type Rendezvous struct {
	cfg    RendezvousConfig
	writes atomic.Uint64

	mu        sync.Mutex
	lock      *Lock
	record    Record
	published bool
	retracted bool
}

// NewRendezvous checks the configuration. It touches no file.
func NewRendezvous(cfg RendezvousConfig) (*Rendezvous, error) {
	if !cfg.Role.Valid() {
		return nil, fmt.Errorf("unknown rendezvous role %q: use %s, %s or %s", cfg.Role, RoleGateway, RoleServe, RoleDesktopServe)
	}
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("rendezvous directory %q must be an absolute path", cfg.Dir)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Observe == nil {
		cfg.Observe = Observe
	}
	return &Rendezvous{cfg: cfg}, nil
}

// RecordPath returns where the record is.
func (r *Rendezvous) RecordPath() string { return r.file(".json") }

// LockPath returns where the host lock is.
func (r *Rendezvous) LockPath() string { return r.file(".lock") }

// TokenPath returns where the token is.
func (r *Rendezvous) TokenPath() string { return r.file(".token") }

func (r *Rendezvous) file(suffix string) string {
	return filepath.Join(r.cfg.Dir, "host-"+string(r.cfg.Role)+suffix)
}

// Writes counts the record writes and removals made through this value. Whoever memoises a probe keeps the count it saw
// and probes again when it has moved.
// Implements G-230.
func (r *Rendezvous) Writes() uint64 { return r.writes.Load() }

// Read returns the record of the role. ok is false when there is none that may be believed: no file, not a record, a
// record of another role, or a file or directory that belongs to another user.
// Implements G-222 and G-223.
func (r *Rendezvous) Read() (record Record, ok bool) {
	if err := repairLockDir(r.cfg.Dir, r.cfg.UID); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.cfg.Log.Info("ignored the rendezvous record", "path", r.RecordPath(), "reason", err.Error())
		}
		return Record{}, false
	}
	data, info, err := readFileAndInfo(r.RecordPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Record{}, false
	case err != nil:
		r.cfg.Log.Info("ignored the rendezvous record", "path", r.RecordPath(), "reason", err.Error())
		return Record{}, false
	case ownerOf(info) != r.cfg.UID:
		r.cfg.Log.Info("ignored the rendezvous record", "path", r.RecordPath(), "reason", "it belongs to another user", "uid", ownerOf(info))
		return Record{}, false
	}
	record, ok = ParseRecord(data, r.cfg.DefaultRoot)
	return record, ok && record.Role == r.cfg.Role
}

// Look reads the record and judges it against the running processes. record is nil when there is none.
// Implements G-224.
func (r *Rendezvous) Look() (record *Record, standing Standing, reason string) {
	found, ok := r.Read()
	if !ok {
		standing, reason = JudgeRecord(nil, Observation{})
		return nil, standing, reason
	}
	standing, reason = JudgeRecord(&found, r.cfg.Observe(found.PID))
	return &found, standing, reason
}

// DiscardDead removes record and token when the recorded process is provably gone or is this process, and reports
// whether the record was removed. Run it after every confirmed stop.
// Implements G-228.
func (r *Rendezvous) DiscardDead() (bool, error) {
	found, ok := r.Read()
	if !ok {
		return false, nil
	}
	seen := r.cfg.Observe(found.PID)
	if standing, _ := JudgeRecord(&found, seen); found.PID != os.Getpid() && !provablyGone(standing, seen, found) {
		return false, nil
	}
	return r.remove(found)
}

// provablyGone is stricter than Stale: a record of an unknown version names a process that may well be alive.
func provablyGone(standing Standing, seen Observation, record Record) bool {
	if seen.State == Dead {
		return true
	}
	return standing == Stale && record.ProtocolVersion == RecordProtocolVersion
}

// remove deletes exactly the given record and the token that belongs to it, and leaves newer ones alone.
func (r *Rendezvous) remove(gone Record) (bool, error) {
	removed, err := removeIf(r.RecordPath(), func(data []byte) bool {
		now, ok := ParseRecord(data, r.cfg.DefaultRoot)
		return ok && sameOwner(now, gone)
	})
	if removed {
		r.writes.Add(1)
	}
	_, tokenErr := removeIf(r.TokenPath(), func(token []byte) bool {
		return gone.TokenFingerprint != "" && TokenFingerprint(string(token)) == gone.TokenFingerprint
	})
	return removed, errors.Join(err, tokenErr)
}

// sameOwner reports whether two records were written by one process.
func sameOwner(a, b Record) bool {
	if a.Role != b.Role || a.PID != b.PID || a.StartTime != b.StartTime || a.BootID != b.BootID {
		return false
	}
	if a.CreateTime == nil || b.CreateTime == nil {
		return a.CreateTime == b.CreateTime
	}
	return *a.CreateTime == *b.CreateTime
}
