package datadir

import "fmt"

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
}

// NotRunningError says that the data directory's control plane is the one to talk to, and is not running.
type NotRunningError struct{ Data Dir }

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("no control plane is running for %s: start it with hermes up", e.Data)
}

// Choose decides which control plane a verb talks to: --kubeconfig, else the one of the data directory if
// one is there, else $KUBECONFIG or ~/.kube/config. A stopped control plane in the data directory, or a data
// directory named on purpose, is never passed over in favour of a cluster: a verb meant for this machine
// must not land on somebody's production.
func Choose(f Found) (Source, error) {
	switch {
	case f.Flag != "":
		return Source{Kind: FromFlag, Kubeconfig: f.Flag, Data: f.Data}, nil
	case f.LocalRuns && f.LocalExists:
		return Source{Kind: Local, Kubeconfig: f.Data.ControlPlane().Kubeconfig(), Data: f.Data}, nil
	case f.LocalExists, f.LocalRuns, f.DataNamed, f.Kubeconfig == "":
		return Source{}, &NotRunningError{Data: f.Data}
	}
	return Source{Kind: FromEnvironment, Kubeconfig: f.Kubeconfig, Data: f.Data}, nil
}
