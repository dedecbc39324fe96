package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"k8s.io/utils/clock"
)

// ApprovalsFile is the file of a home that keeps the decisions given for always. The runtime writes it; tools must not.
const ApprovalsFile = "approvals.json"

// maxApprovals bounds the file.
const maxApprovals = 1000

// Approval is one decision given for always.
type Approval struct {
	// ID names it for revoking.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Subject is what it covers: a command, a host; empty for the whole tool.
	Subject string    `json:"subject,omitempty"`
	At      time.Time `json:"at"`
}

// Approvals keeps the decisions of one home that were given for always. The file is read once: what somebody writes to
// it later may come from a command of the agent, which must not decide for a person. It is safe for concurrent use.
type Approvals struct {
	path  string
	clock clock.PassiveClock

	mu     sync.Mutex
	loaded bool
	list   []Approval
	err    error
}

type approvalsFile struct {
	Version int        `json:"version"`
	Always  []Approval `json:"always"`
}

// NewApprovals keeps decisions at path. It touches nothing until it is asked.
func NewApprovals(path string, clk clock.PassiveClock) *Approvals {
	return &Approvals{path: path, clock: clk}
}

// List returns the decisions, oldest first.
func (a *Approvals) List() []Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	return append([]Approval{}, a.list...)
}

func (a *Approvals) has(tool, subject string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	return slices.ContainsFunc(a.list, func(e Approval) bool { return e.Tool == tool && e.Subject == subject })
}

// Add keeps a decision. It fails rather than write over a file that it cannot read.
func (a *Approvals) Add(tool, subject string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	if a.err != nil {
		return a.err
	}
	e := Approval{ID: approvalID(tool, subject), Tool: tool, Subject: subject, At: a.clock.Now().UTC().Truncate(time.Second)}
	if slices.ContainsFunc(a.list, func(o Approval) bool { return o.ID == e.ID }) {
		return nil
	}
	list := append(slices.Clone(a.list), e)
	if len(list) > maxApprovals {
		list = list[len(list)-maxApprovals:]
	}
	return a.write(list)
}

// Revoke takes a decision back and reports whether it was there. "all" takes back every one.
func (a *Approvals) Revoke(id string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	if a.err != nil {
		return false, a.err
	}
	left := slices.DeleteFunc(slices.Clone(a.list), func(e Approval) bool { return id == "all" || e.ID == id })
	if len(left) == len(a.list) {
		return false, nil
	}
	return true, a.write(left)
}

func (a *Approvals) write(list []Approval) error {
	raw, err := json.MarshalIndent(approvalsFile{Version: 1, Always: list}, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(a.path, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep approvals: %w", err)
	}
	a.list = list
	return nil
}

// load reads the file the first time. One that cannot be read allows nothing.
func (a *Approvals) load() {
	if a.loaded {
		return
	}
	a.loaded = true
	raw, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var file approvalsFile
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err == nil && file.Version != 1 {
		err = fmt.Errorf("version %d is not known", file.Version)
	}
	if err != nil {
		a.err = fmt.Errorf("%s cannot be read (%w): correct it or delete it, then restart the gateway", a.path, err)
		return
	}
	for _, e := range file.Always {
		if e.Tool != "" {
			e.ID = approvalID(e.Tool, e.Subject)
			a.list = append(a.list, e)
		}
	}
}

func approvalID(tool, subject string) string {
	sum := sha256.Sum256([]byte(tool + "\x00" + subject))
	return hex.EncodeToString(sum[:5])
}
