package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/api/v1alpha1"
)

// verdictFile keeps the last failed verdict on the model in the home, so that a restart of the gateway does not make a
// profile well that has not answered since. Only what clears the verdict in a running gateway removes it.
const verdictFile = ".hermes-model.json"

// maxVerdict bounds how much of the file is read, in bytes.
const maxVerdict = 64 << 10

// modelVerdict is the file's content.
type modelVerdict struct {
	Version int    `json:"version"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// With tells the models and keys that failed from others; no key can be read from it.
	With string `json:"with"`
}

// digest names the models and keys of an access across processes: unlike the configuration, which a restart reads anew.
func (a access) digest() string {
	h := sha256.New()
	if a.config != nil {
		fallbacks, _ := readFallbacks(a.config) // the turn that was made with it could read them
		for _, m := range append([]modelRoute{readPrimary(a.config)}, fallbacks...) {
			fmt.Fprintf(h, "%q %q %q;", m.provider, m.model, m.baseURL)
		}
	}
	h.Write(a.keys[:])
	return hex.EncodeToString(h.Sum(nil))
}

func (r *Runtime) verdictPath() string { return filepath.Join(r.o.Paths.Home, verdictFile) }

// recallVerdict takes over what an earlier run has kept, once, when the models and keys are those that failed. r.mu is
// held.
func (r *Runtime) recallVerdict(now access) {
	if r.verdictKnown {
		return
	}
	r.verdictKnown = true
	v, err := readVerdict(r.verdictPath())
	r.verdictKept = !errors.Is(err, fs.ErrNotExist)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.o.Log.V(1).Info("what an earlier run knew of the model cannot be read", "error", err.Error())
	case v.With == now.digest():
		r.modelHealth = modelHealth{reason: v.Reason, message: v.Message, with: now}
	}
}

func readVerdict(path string) (modelVerdict, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return modelVerdict{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxVerdict {
		return modelVerdict{}, fmt.Errorf("%s is not a file of at most %d KiB", path, maxVerdict>>10)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return modelVerdict{}, err
	}
	var v modelVerdict
	if err := json.Unmarshal(raw, &v); err != nil {
		return modelVerdict{}, err
	}
	if known := []string{v1alpha1.ReasonModelRefused, v1alpha1.ReasonModelUnreachable}; v.Version != 1 || !slices.Contains(known, v.Reason) || v.Message == "" {
		return modelVerdict{}, fmt.Errorf("%s holds no verdict of version 1", path)
	}
	return v, nil
}

// keepVerdict writes what is known now. Turns that end together write one after the other, and the last one writes the
// last state.
func (r *Runtime) keepVerdict() {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	r.mu.Lock()
	m := r.modelHealth
	r.mu.Unlock()
	var err error
	if m.reason == v1alpha1.ReasonModelRefused || m.reason == v1alpha1.ReasonModelUnreachable {
		var raw []byte
		if raw, err = json.Marshal(modelVerdict{Version: 1, Reason: m.reason, Message: m.message, With: m.with.digest()}); err == nil {
			err = renameio.WriteFile(r.verdictPath(), append(raw, '\n'), 0o600)
		}
	} else if err = os.Remove(r.verdictPath()); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		r.o.Log.Error(err, "what is known of the model is not kept across a restart")
	}
}
