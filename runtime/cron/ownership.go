package cron

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// recordFresh is how old a gateway's status record may be and still speak for a living gateway.
const recordFresh = 120 * time.Second

// OwnsTick reports whether this process is the one to tick a home: it holds the gateway's lock and has the home in its
// ticked set.
//
// Implements C-190, T-158.
func OwnsTick(holdsLock bool, home string, ticked []string) bool {
	return holdsLock && slices.Contains(ticked, home)
}

// GatewayRecord is what a gateway says of itself in its status file.
type GatewayRecord struct {
	PID       int
	Home      string
	Served    []string
	UpdatedAt time.Time
	CodeSHA   string
}

// GatewayProbe is what was found out about another gateway. Whatever could not be found out stays zero.
type GatewayProbe struct {
	// HoldsLock says that this process holds the gateway's lock; LockHeld that anybody does.
	HoldsLock, LockHeld bool
	// RunningPID is the pid that is known to run, 0 when unknown.
	RunningPID int
	// Record is the status record, nil when there is none.
	Record *GatewayRecord
}

// LiveGatewayTicking returns the record of another gateway that ticks the home now, nil when none is proven to.
//
// Implements C-191, T-159, T-160.
func LiveGatewayTicking(p GatewayProbe, home, profile string, now time.Time) *GatewayRecord {
	if p.HoldsLock || !p.LockHeld || p.RunningPID < 1 || p.Record == nil || p.Record.PID != p.RunningPID {
		return nil
	}
	if age := now.Sub(p.Record.UpdatedAt); age < 0 || age > recordFresh {
		return nil
	}
	if p.Record.Home != home && !slices.Contains(p.Record.Served, profile) {
		return nil
	}
	return p.Record
}

// StaleCodeError is a tick that was left to a gateway with newer code. Its text is read back by other processes.
type StaleCodeError struct{ Booted, Disk string }

// Error implements error.
func (e *StaleCodeError) Error() string {
	return fmt.Sprintf("StaleCodeError: tick left to a gateway with the installed code; stale code: booted on %s, disk is at %s", e.Booted, e.Disk)
}

var staleCodeText = regexp.MustCompile(`StaleCode\w*:.*stale code: booted on ([^\s,]+), disk is at ([^\s)]+)`)

// ParseStaleCode recovers a yield from the text of a tick's error.
//
// Implements C-193.
func ParseStaleCode(text string) (*StaleCodeError, bool) {
	m := staleCodeText.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	return &StaleCodeError{Booted: m[1], Disk: m[2]}, true
}

// Yield decides whether to leave a home's tick to another gateway: only when this process runs other code than is
// installed, does not own the tick, and a live gateway with exactly the installed code ticks the home. A difference that
// is not known is none.
//
// Implements C-192, T-161, T-162.
func Yield(booted, disk string, owns bool, holder *GatewayRecord) error {
	if booted == "" || disk == "" || booted == disk || owns || holder == nil || holder.CodeSHA != disk {
		return nil
	}
	return &StaleCodeError{Booted: booted, Disk: disk}
}

// isYield reports whether a tick failed because it was left to another gateway.
func isYield(err error) bool {
	var stale *StaleCodeError
	return errors.As(err, &stale)
}
