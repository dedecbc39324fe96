package process

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hermes.dev/hermes/controllers/engine"
)

// settings are the fingerprints of what a run was started with, by field name.
// Fingerprints, because the intent file must not hold the values of variables;
// by field, so that a message can name what differs.
type settings map[string]string

// settingsOf fingerprints everything of a workload that a running gateway
// cannot take over without a restart.
func settingsOf(w engine.Workload, o Options) settings {
	return settings{
		"uid":               fingerprint(string(w.UID)),
		"home":              fingerprint(w.Home),
		"adoptExistingHome": fingerprint(strconv.FormatBool(w.AdoptExistingHome)),
		"env":               fingerprint(w.Env...),
		"memoryLimit":       fingerprint(strconv.FormatInt(w.MemoryLimit, 10)),
		"logDir":            fingerprint(w.LogDir),
		"drainTimeout":      fingerprint(w.DrainTimeout.String()),
		"kubeconfig":        fingerprint(o.Kubeconfig),
		"binary":            fingerprint(o.Binary),
	}
}

// fingerprint of a list of values; length-prefixed, so that lists never collide by joining.
func fingerprint(values ...string) string {
	h := sha256.New()
	for _, v := range values {
		h.Write([]byte(strconv.Itoa(len(v)) + ":" + v))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// differing names the fields in which two settings differ, sorted.
func (s settings) differing(other settings) []string {
	var names []string
	for name := range s {
		if s[name] != other[name] {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, ok := s[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s settings) equal(other settings) bool { return maps.Equal(s, other) }

// update is the decision about a run that works.
type update struct {
	// Restart asks for a drained restart.
	Restart bool
	// Why says what differs, "" when the run is current.
	Why string
}

// updateInput is what the decision depends on.
type updateInput struct {
	Running, Wanted           settings
	RunningToken, WantedToken string
	// RunningRevision is what the gateway says it executes, InstalledRevision what is installed; "" when unknown.
	RunningRevision, InstalledRevision string
	// TriedRevision is the installed revision for which this run was started. When the run reports another one all the
	// same, a further restart would change nothing and is not made.
	TriedRevision string
	AutoUpdate    bool
}

// decideUpdate says whether a running gateway is restarted. A changed token and
// a new object (uid) always restart: the first is an order, the second another
// workload. Everything else restarts only with AutoUpdate.
func decideUpdate(in updateInput) update {
	var why []string
	differ := in.Wanted.differing(in.Running)
	if len(differ) > 0 {
		why = append(why, "settings differ: "+strings.Join(differ, ", "))
	}
	outdated := in.RunningRevision != "" && in.InstalledRevision != "" && in.RunningRevision != in.InstalledRevision
	if outdated {
		why = append(why, "runs code "+in.RunningRevision+", installed is "+in.InstalledRevision)
	}
	u := update{Why: strings.Join(why, "; ")}
	switch {
	case in.RunningToken != in.WantedToken:
		u.Restart = true
		if u.Why == "" {
			u.Why = "a restart was asked for"
		}
	case slices.Contains(differ, "uid"):
		u.Restart = true
	case in.AutoUpdate && len(differ) > 0:
		u.Restart = true
	case in.AutoUpdate && outdated && in.TriedRevision != in.InstalledRevision:
		u.Restart = true
	}
	return u
}
