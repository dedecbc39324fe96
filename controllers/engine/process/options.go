package process

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Options of the engine. Binary, Dir and Kubeconfig are needed; everything else has a default.
type Options struct {
	// Binary is the absolute path of `hermes`.
	Binary string
	// Dir is the absolute state directory of the engine; it is the engine's alone.
	Dir string
	// Kubeconfig is the absolute path gateways reach the API with.
	Kubeconfig string
	// BaseEnv is PATH, HOME, LANG and TZ of gateways as KEY=VALUE. Gateways inherit nothing else.
	BaseEnv []string
	Log     logr.Logger
	Clock   clock.WithTicker
	// Revision returns the installed code revision, "" when unknown. nil means unknown.
	Revision func() string
	// CgroupParent is a delegated cgroup v2 directory (see DelegatedCgroup), or empty: then memory has a soft limit only, and CPU
	// and tasks have none.
	CgroupParent string
	// MaxConcurrentStarts bounds how many gateways are starting at once; 0 means 4. Implements G11.
	MaxConcurrentStarts int
	// StartInterval is the least time between two starts; 0 means none.
	StartInterval time.Duration
	// StartDeadline is how long a gateway may take until it answers; 0 means 60 s.
	StartDeadline time.Duration
	// PingInterval is the pause between two liveness questions; 0 means 10 s.
	PingInterval time.Duration
	// MissedPings is how many questions in a row stay unanswered before a gateway counts as not responding; 0 means 3.
	MissedPings int

	// HostLocks is the rendezvous directory of this user's gateways that were started by hand; "" does not look there.
	HostLocks string

	// hook is told of each point at which a crash of this process must be survived; tests end the process there.
	hook func(point string)
	// oomKills returns the machine's count of processes ended for memory; tests stand in for the kernel.
	oomKills func() int64
	// ask bounds one question to a control socket; 0 means host.RequestTimeout.
	ask time.Duration
	// jitter returns a number in [0,1).
	jitter func() float64
}

// withDefaults completes the options and refuses those that cannot work.
func (o Options) withDefaults() (Options, error) {
	switch {
	case !filepath.IsAbs(o.Binary):
		return o, errors.New("process engine needs the absolute path of the hermes binary")
	case !filepath.IsAbs(o.Dir):
		return o, errors.New("process engine needs an absolute state directory")
	case !filepath.IsAbs(o.Kubeconfig):
		return o, errors.New("process engine needs the absolute path of a kubeconfig")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	if o.Revision == nil {
		o.Revision = func() string { return "" }
	}
	if len(o.BaseEnv) == 0 {
		o.BaseEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	}
	o.MaxConcurrentStarts = defaulted(o.MaxConcurrentStarts, 4)
	o.StartDeadline = defaulted(o.StartDeadline, time.Minute)
	o.PingInterval = defaulted(o.PingInterval, 10*time.Second)
	o.MissedPings = defaulted(o.MissedPings, 3)
	if o.hook == nil {
		o.hook = func(string) {}
	}
	if o.oomKills == nil {
		o.oomKills = oomKills
	}
	if o.jitter == nil {
		o.jitter = rand.Float64
	}
	return o, nil
}

func defaulted[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
