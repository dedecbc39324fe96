package datadir

import (
	"fmt"
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// SourceKind says where a verb's control plane came from.
type SourceKind string

const (
	// FromFlag is --kubeconfig.
	FromFlag SourceKind = "flag"
	// Local is the embedded control plane of the data directory.
	Local SourceKind = "local"
	// FromEnvironment is $KUBECONFIG or ~/.kube/config.
	FromEnvironment SourceKind = "environment"
)

// Source is the control plane a verb talks to.
type Source struct {
	Kind SourceKind
	// Kubeconfig is a path, or a list of paths as in $KUBECONFIG.
	Kubeconfig string
	// Data is the data directory that was looked at.
	Data Dir
}

// Found is what was seen on this machine, the input of Choose.
type Found struct {
	// Flag is the value of --kubeconfig.
	Flag string
	// Data is the data directory, DataNamed whether --data or $HERMES_DATA named it.
	Data      Dir
	DataNamed bool
	// LocalExists says whether the data directory holds a control plane, LocalRuns whether hermes up runs for it.
	LocalExists, LocalRuns bool
	// Kubeconfig is $KUBECONFIG, else ~/.kube/config if that file exists, else "".
	Kubeconfig string
	// HomeConfig is where ~/.kube/config is or would be.
	HomeConfig string
}

// NotRunningError says that the data directory's control plane is the one to talk to, and is not running.
type NotRunningError struct {
	Data Dir
	// Named says whether the reader named the directory; else it is the default one, and perhaps the wrong one.
	Named bool
	// Tried is where a control plane was looked for when there is none at all; nil when there is one that is stopped.
	Tried []string
	// Starting says that hermes up runs and its control plane does not answer yet, or not at this moment.
	Starting bool
}

func (e *NotRunningError) Error() string {
	if e.Starting {
		return fmt.Sprintf("the control plane of %s is starting or restarting: try again in a few seconds", e.Data)
	}
	if len(e.Tried) > 0 {
		return fmt.Sprintf("no control plane found (%s): start one with %s, or name one with --data, HERMES_DATA, --kubeconfig or KUBECONFIG",
			strings.Join(e.Tried, "; "), e.Data.Command("up", e.Named))
	}
	text := fmt.Sprintf("no control plane is running for %s: start it with %s", e.Data, e.Data.Command("up", e.Named))
	if !e.Named {
		text += ", or name another data directory with --data or HERMES_DATA"
	}
	return text
}

// Choose decides which control plane a verb talks to: --kubeconfig, else the one of the data directory if
// one is there, else $KUBECONFIG or ~/.kube/config. A stopped control plane in the data directory, or a data
// directory named on purpose, is never passed over in favour of a cluster: a verb meant for this machine
// must not land on somebody's production. While hermes up starts, the error has exit code 75; where no control plane
// ever was it has exit code 2 and says what was tried.
func Choose(f Found) (Source, error) {
	switch {
	case f.Flag != "":
		return Source{Kind: FromFlag, Kubeconfig: f.Flag, Data: f.Data}, nil
	case f.LocalRuns && f.LocalExists:
		return Source{Kind: Local, Kubeconfig: f.Data.ControlPlane().Kubeconfig(), Data: f.Data}, nil
	case f.LocalRuns:
		return Source{}, exit.Busyf("%w", &NotRunningError{Data: f.Data, Named: f.DataNamed, Starting: true})
	case f.LocalExists:
		return Source{}, &NotRunningError{Data: f.Data, Named: f.DataNamed}
	case f.DataNamed, f.Kubeconfig == "":
		return Source{}, exit.Usagef("%w", &NotRunningError{Data: f.Data, Named: f.DataNamed, Tried: f.tried()})
	}
	return Source{Kind: FromEnvironment, Kubeconfig: f.Kubeconfig, Data: f.Data}, nil
}

// tried lists where Choose looked in vain.
func (f Found) tried() []string {
	tried := []string{fmt.Sprintf("data directory %s holds none", f.Data)}
	if f.DataNamed {
		return tried // a directory that was named is not passed over
	}
	return append(tried, "KUBECONFIG is not set", f.HomeConfig+" is not there")
}

// NoneIn says, with exit code 2, that a data directory holds no control plane.
func NoneIn(data Dir, named bool) error {
	return exit.Usagef("%w", &NotRunningError{Data: data, Named: named, Tried: Found{Data: data, DataNamed: true}.tried()})
}
