package manifestdir

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/manifests"
	"hermes.dev/hermes/runtime/host"
)

const (
	// settle is how long a directory must be quiet after a change before it is read: an editor or a copy
	// changes a file several times.
	settle = 100 * time.Millisecond
	// rescan finds what no notification told of: network filesystems, and a directory that is a link which
	// now points elsewhere (a new Nix generation). It reads files and sends nothing when they are the same.
	rescan = 10 * time.Second
	// retryFirst and retryMax bound the back-off after a failed pass.
	retryFirst = 250 * time.Millisecond
	retryMax   = 30 * time.Second
)

// Watcher applies one directory.
type Watcher struct {
	// Dir is an absolute path.
	Dir string
	// Applier applies the set; its Set, Manager and Force are given by the watcher.
	Applier *manifests.Applier
	Clock   clock.WithTicker
	Log     logr.Logger
	// Passed is called after each pass that sent something; nil is fine.
	Passed func([]manifests.Result)
	// TroubleFile is where hermes status reads what is not applied; "" for nowhere. Self is this process.
	TroubleFile string
	Self        host.ProcessID

	applied string             // digest of the files of the last pass without a failure
	said    map[string]Failure // the last failure said, by keyOf
	trouble record
}

// Run applies the directory and follows it until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	w.Applier.Set, w.Applier.Manager, w.Applier.Force = manifests.WatchedSet, manifests.WatchedFieldManager, true
	w.said, w.trouble = map[string]Failure{}, record{path: w.TroubleFile}
	defer w.note(nil)
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.Dir, err)
	}
	defer notify.Close() //nolint:errcheck // nothing depends on it any more
	retry := w.backoff()
	timer := w.Clock.NewTimer(0) // the first pass
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-notify.Errors:
			w.Log.Error(err, "Watching manifests", "directory", w.Dir)
			timer.Reset(settle)
		case <-notify.Events:
			timer.Reset(settle)
		case <-timer.C():
			w.follow(notify)
			if w.pass(ctx) {
				retry = w.backoff()
				timer.Reset(rescan)
			} else {
				timer.Reset(min(retry.Step(), rescan))
			}
		}
	}
}

func (w *Watcher) backoff() *wait.Backoff {
	return &wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.1, Steps: 1 << 30, Cap: retryMax}
}

// follow watches the directory, every one below it, and the one its link stands in. Adding one again is free.
func (w *Watcher) follow(notify *fsnotify.Watcher) {
	for _, dir := range append(directories(w.Dir), filepath.Dir(w.Dir)) {
		if err := notify.Add(dir); err != nil {
			w.Log.V(1).Info("Cannot watch, looking every now and then instead", "directory", dir, "error", err.Error())
		}
	}
}

// pass applies the directory when its files differ from those of the last good pass. ok is false when
// something is to be tried again.
func (w *Watcher) pass(ctx context.Context) (ok bool) {
	found := read(w.Dir)
	if found.digest == w.applied && found.digest != "" {
		return true
	}
	report := func(r manifests.Result) { w.report(ctx, r) }
	results := w.Applier.Apply(ctx, found.docs, report)
	results = append(results, w.Applier.Prune(ctx, results, report)...)
	if ctx.Err() != nil {
		return true
	}
	ok = !manifests.AnyFailed(results)
	w.applied = ""
	if ok {
		w.applied = found.digest
	}
	w.forget(ctx, results)
	w.note(w.said)
	if w.Passed != nil {
		w.Passed(results)
	}
	return ok
}

// report says what was done, and says each failure once for as long as it stays the same.
func (w *Watcher) report(ctx context.Context, r manifests.Result) {
	switch r.Outcome {
	case manifests.Unchanged:
	case manifests.Failed:
		// A failure stays the same failure when its words change, so that its age is told.
		before, known := w.said[keyOf(r)]
		now := Failure{At: r.Position(), Object: objectOf(r), Message: r.Err.Error(), Since: before.Since}
		if !known {
			now.Since = w.Clock.Now().UTC().Truncate(time.Second)
		}
		if before == now {
			return
		}
		w.said[keyOf(r)] = now
		w.Log.Info("Manifest was not applied, it is tried again", "at", now.At, "object", now.Object, "reason", now.Message)
		w.event(ctx, corev1.EventTypeWarning, ReasonNotApplied, r.String())
	default:
		w.Log.Info("Manifest applied", "object", r.Identity.String(), "namespace", r.Identity.Namespace, "outcome", r.Outcome)
	}
}

func objectOf(r manifests.Result) string {
	if r.Identity.Name == "" {
		return ""
	}
	return r.Identity.String()
}

// keyOf tells failures apart: what is pruned has no file, and a document may declare another object by now.
func keyOf(r manifests.Result) string { return r.Position() + " " + objectOf(r) }

// forget drops what was said of positions that are fine now, so that a later failure there is said again.
func (w *Watcher) forget(ctx context.Context, results []manifests.Result) {
	failed := map[string]bool{}
	for _, r := range results {
		if r.Outcome == manifests.Failed {
			failed[keyOf(r)] = true
		}
	}
	for key, f := range w.said {
		if !failed[key] {
			delete(w.said, key)
			w.event(ctx, corev1.EventTypeNormal, ReasonApplied, strings.TrimPrefix(f.At+": "+f.Object, ": ")+" is applied or gone")
		}
	}
}

// note writes down what is not applied.
func (w *Watcher) note(said map[string]Failure) {
	t := Trouble{PID: w.Self.PID, StartTime: w.Self.StartTime}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		t.Failures = append(t.Failures, said[key])
	}
	if err := w.trouble.write(t); err != nil {
		w.Log.Error(err, "hermes status does not show what is wrong with the manifests")
	}
}
