package store

import (
	"fmt"
	"slices"
	"strings"
)

// RecoveryGuide is the page about stores that are in use, damaged or half moved.
const RecoveryGuide = "docs/session-storage-recovery.md"

// Refusal is what a maintenance command says when somebody else has the store open.
type Refusal struct {
	// Command is the refused command, for example "hermes sessions optimize".
	Command string
	// Database is the store's file, Profile its profile, empty when unknown.
	Database, Profile string
	Holders           []Holder
	// NoForce leaves the hint at --force out.
	NoForce bool
}

// String is the refusal in lines: headline, a line for each process by ascending pid, what could not be inspected,
// the consequence, the remedy, the force hint and the guide. It ends with a line break.
//
// Implements S-141.
func (r Refusal) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s refused: other processes have %s open", r.Command, r.Database)
	holders := slices.Clone(r.Holders)
	slices.SortFunc(holders, func(a, b Holder) int { return a.PID - b.PID })
	var doubts []string
	for _, h := range holders {
		if len(h.Files) > 0 {
			line("  %s: %s", describeProcess(h.PID, h.Command), strings.Join(h.Files, ", "))
		}
		if h.Uninspectable != "" {
			doubts = append(doubts, doubt(h))
		}
	}
	if len(doubts) > 0 {
		line("  Not everything could be inspected, so quiet cannot be proven: %s", doubts[0])
	}
	line("Rewriting the store under them would strand every agent that has it open.")
	whose := "of this profile"
	if r.Profile != "" {
		whose = "started with -p " + r.Profile
	}
	line("Stop them first: quit every Hermes program %s; hermes down stops the gateway.", whose)
	if !r.NoForce {
		line("To go ahead anyway, repeat the command with --force.")
	}
	line("Guide: %s", RecoveryGuide)
	return b.String()
}

// doubt says in at most 120 characters why a process, or everything, could not be inspected.
func doubt(h Holder) string {
	reason := []rune(strings.Join(strings.Fields(h.Uninspectable), " "))
	if len(reason) > 120 {
		reason = append(reason[:119], '…')
	}
	if h.PID == ScanFailedPID {
		return string(reason)
	}
	return describeProcess(h.PID, h.Command) + ": " + string(reason)
}
