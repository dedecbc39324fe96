package manifestdir

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/manifests"
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

	applied string            // digest of the files of the last pass without a failure
	said    map[string]string // the last error said of each position
}

// Run applies the directory and follows it until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	w.Applier.Set, w.Applier.Manager, w.Applier.Force = manifests.WatchedSet, manifests.WatchedFieldManager, true
	w.said = map[string]string{}
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
	results := w.Applier.Apply(ctx, found.docs, w.report)
	results = append(results, w.Applier.Prune(ctx, results, w.report)...)
	if ctx.Err() != nil {
		return true
	}
	ok = !manifests.AnyFailed(results)
	w.applied = ""
	if ok {
		w.applied = found.digest
	}
	w.forget(results)
	if w.Passed != nil {
		w.Passed(results)
	}
	return ok
}

// report says what was done, and says each failure once for as long as it stays the same.
func (w *Watcher) report(r manifests.Result) {
	switch r.Outcome {
	case manifests.Unchanged:
	case manifests.Failed:
		if text := r.Err.Error(); w.said[r.Position()] != text {
			w.said[r.Position()] = text
			w.Log.Info("Manifest was not applied, it is tried again", "at", r.Position(), "object", objectOf(r), "reason", text)
		}
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

// forget drops what was said of positions that are fine now, so that a later failure there is said again.
func (w *Watcher) forget(results []manifests.Result) {
	failed := map[string]bool{}
	for _, r := range results {
		if r.Outcome == manifests.Failed {
			failed[r.Position()] = true
		}
	}
	for position := range w.said {
		if !failed[position] {
			delete(w.said, position)
		}
	}
}
