//go:build !race

package process

import (
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
)

// The race detector's allocator dies with words of its own, so this needs the ordinary one.

// G5: out of memory has its own reason.
func TestOutOfMemory_G5(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	o := w.awaitReason(e, w.workload(modeHog), v1alpha1.ReasonOutOfMemory)
	if o.Stalled || !strings.Contains(o.Message, "memoryLimit") {
		t.Errorf("observation: %+v", o)
	}
	w.stop(e)
}
