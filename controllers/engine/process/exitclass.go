package process

import (
	"fmt"
	"syscall"

	"hermes.dev/hermes/api/v1alpha1"
)

// Exit codes with a meaning of their own. Implements G-270.
const (
	exitTryLater = 75
	exitRefused  = 78
)

// exitClass says why a gateway ended, as far as the next step depends on it.
type exitClass string

const (
	// exitAsked: the engine stopped it.
	exitAsked exitClass = "Asked"
	// exitConfiguration: it refused what it was given; only a change helps.
	exitConfiguration exitClass = "Refused"
	// exitTransient: it said to try again later.
	exitTransient exitClass = "TryLater"
	// exitOutOfMemory: it was ended for its memory use.
	exitOutOfMemory exitClass = "OutOfMemory"
	// exitNotResponding: the engine ended it because it did not answer.
	exitNotResponding exitClass = "NotResponding"
	// exitCrash: everything else, a clean exit nobody asked for included.
	exitCrash exitClass = "Crash"
)

// exitFacts is what is known about the end of a run.
type exitFacts struct {
	// Known is false when the exit status could not be learnt (a gateway that was not our child).
	Known bool
	// Code of a normal exit; meaningless when Signal is set.
	Code int
	// Signal that ended the process, 0 for a normal exit.
	Signal syscall.Signal
	// OOMKilled: the kernel's counters show a kill for memory during the run.
	OOMKilled bool
	// OOMLogged: the runtime wrote that it could not allocate.
	OOMLogged bool
	// Asked: the engine asked it to stop.
	Asked bool
	// Unresponsive: the engine asked it to stop because it did not answer.
	Unresponsive bool
	// Refusal is set when the last log line is a refusal.
	Refusal *refusal
}

// classify decides why a gateway ended. Implements guarantee G5.
func classify(f exitFacts) exitClass {
	switch {
	case f.Unresponsive:
		return exitNotResponding
	case f.Asked:
		return exitAsked
	case f.Known && f.Signal == 0 && f.Code == exitRefused:
		return exitConfiguration
	case f.Known && f.Signal == 0 && f.Code == exitTryLater:
		return exitTransient
	case !f.Known && f.Refusal != nil && f.Refusal.Reason == v1alpha1.ReasonHostOwnedElsewhere:
		return exitTransient // an observation of the moment, which no change of configuration cures
	case !f.Known && f.Refusal != nil:
		return exitConfiguration
	case f.OOMKilled && (!f.Known || f.Signal == syscall.SIGKILL):
		return exitOutOfMemory
	case f.OOMLogged && (!f.Known || f.Signal != 0 || f.Code != 0):
		return exitOutOfMemory
	default:
		return exitCrash
	}
}

// exitReason is the reason of condition Running after an exit of this class.
func exitReason(c exitClass, r *refusal) string {
	switch c {
	case exitConfiguration, exitTransient:
		if r != nil && r.Reason != "" {
			return r.Reason
		}
		if c == exitConfiguration {
			return v1alpha1.ReasonConfigurationRefused
		}
		return v1alpha1.ReasonCrashLoop
	case exitOutOfMemory:
		return v1alpha1.ReasonOutOfMemory
	case exitNotResponding:
		return v1alpha1.ReasonNotResponding
	default:
		return v1alpha1.ReasonCrashLoop
	}
}

// describe says in words how the process ended.
func (f exitFacts) describe() string {
	switch {
	case f.Unresponsive:
		return "was ended because it did not answer its control socket"
	case !f.Known:
		return "ended (its exit status is unknown: it was started by an earlier operator)"
	case f.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%s)", int(f.Signal), f.Signal)
	default:
		return fmt.Sprintf("ended by itself with exit code %d", f.Code)
	}
}

// exitMessage says for people how a run ended and what to do.
func exitMessage(class exitClass, f exitFacts, words lastWords, logFile string) string {
	switch {
	case class == exitConfiguration && f.Refusal != nil:
		return f.Refusal.Message
	case class == exitTransient && f.Refusal != nil:
		return f.Refusal.Message + "; it tries again"
	}
	message := f.describe()
	switch class {
	case exitConfiguration:
		message += ": it refused its configuration and waits for a change"
	case exitOutOfMemory:
		message += ": it used more memory than it may; raise spec.process.memoryLimit"
	case exitTransient:
		message += " (try again later)"
	}
	if words.Quote != "" {
		return message + ": " + words.Quote
	}
	return message + "; its log " + logFile + " is empty"
}
