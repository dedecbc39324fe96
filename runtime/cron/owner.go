package cron

import (
	"regexp"
	"strconv"
	"strings"
)

// Life is what is known about a process. The zero value proves nothing.
type Life int

const (
	// LifeUnknown means neither life nor death could be proved.
	LifeUnknown Life = iota
	// LifeAlive means a process has the pid.
	LifeAlive
	// LifeDead means that no process has the pid, or one that began later.
	LifeDead
)

// Owner identifies this process in claims and in the ledger.
type Owner struct {
	// MachineID replaces host and pid in claims when it is set.
	MachineID string
	// Host and PID name the process; StartedAt is its kernel start fingerprint, 0 when unknown.
	Host      string
	PID       int
	StartedAt int64
	// Life judges a process of this host by pid and start fingerprint (0: any). nil proves nothing.
	Life func(pid int, startedAt int64) Life
}

// Text is how the owner signs a claim (C-151).
func (o Owner) Text() string {
	if o.MachineID != "" {
		return o.MachineID
	}
	return o.Host + ":" + strconv.Itoa(o.PID)
}

var acquisition = regexp.MustCompile(`:[0-9a-f]{32}$`)

// withoutAcquisition cuts the part of a claim's text that differs with each acquisition.
func withoutAcquisition(by string) string { return acquisition.ReplaceAllString(by, "") }

// Wrote reports whether this process signed by.
func (o Owner) Wrote(by string) bool { return withoutAcquisition(by) == o.Text() }

// provablyDead reports whether by names a process of this host that is gone.
func (o Owner) provablyDead(by string) bool {
	host, pid, ok := splitOwner(withoutAcquisition(by))
	if !ok || host != o.Host || o.Life == nil {
		return false
	}
	return o.Life(pid, 0) == LifeDead
}

func splitOwner(by string) (host string, pid int, ok bool) {
	i := strings.LastIndexByte(by, ':')
	if i < 1 {
		return "", 0, false
	}
	pid, err := strconv.Atoi(by[i+1:])
	return by[:i], pid, err == nil && pid > 0
}
