package manifestdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reasons of the events about a manifest.
const (
	// ReasonNotApplied: a manifest cannot be applied as it is; it is tried again.
	ReasonNotApplied = "ManifestNotApplied"
	// ReasonApplied: a manifest that could not be applied is fine now, or gone.
	ReasonApplied = "ManifestApplied"
)

var eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// maxEventMessage is what the server takes, in bytes.
const maxEventMessage = 1024

// event tells about a manifest on the namespace that it would go to: the object it
// declares may not exist. One that cannot be written is in the log only.
func (w *Watcher) event(ctx context.Context, kind, reason, message string) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.newEvent(kind, reason, message))
	if err == nil {
		_, err = w.Applier.Client.Resource(eventResource).Namespace(metav1.NamespaceDefault).
			Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: w.Applier.Manager})
	}
	if err != nil {
		w.Log.V(1).Info("No event about a manifest", "reason", reason, "error", err.Error())
	}
}

func (w *Watcher) newEvent(kind, reason, message string) *corev1.Event {
	now := w.Clock.Now()
	sum := sha256.Sum256([]byte(now.String() + reason + message))
	return &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		// Events about an object without a namespace are in the default one, whichever namespace they are about.
		ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "manifest." + hex.EncodeToString(sum[:8])},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: w.Applier.Namespace},
		Type:           kind, Reason: reason, Message: clip(message, maxEventMessage),
		Source:         corev1.EventSource{Component: w.Applier.Manager},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1,
	}
}

// clip cuts a text to a number of bytes, between letters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}
