package conditions

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

func TestSummarise(t *testing.T) {
	ok := OK("A", v1alpha1.ReasonResolved, "fine")
	waiting := Waiting("B", v1alpha1.ReasonStarting, "wait")
	stalled := Stalled("C", v1alpha1.ReasonConfigInvalid, "change it")
	reported, quiet, informative := waiting, waiting, stalled
	reported.Reported, quiet.Quiet, informative.Informative = true, true, true
	unknown := waiting
	unknown.Status = metav1.ConditionUnknown
	cases := []struct {
		name     string
		findings []Finding
		want     string
	}{
		{"all true", []Finding{ok}, "A=True/Resolved Ready=True/Ready"},
		{"nothing", nil, "Ready=True/Ready"},
		{"waiting", []Finding{ok, waiting}, "A=True/Resolved B=False/Starting Ready=False/Starting Reconciling=True/Starting"},
		{"unknown is not ready", []Finding{unknown}, "B=Unknown/Starting Ready=False/Starting Reconciling=True/Starting"},
		{"stalled", []Finding{stalled}, "C=False/ConfigInvalid Ready=False/ConfigInvalid Stalled=True/ConfigInvalid"},
		{"the first decides", []Finding{waiting, stalled}, "B=False/Starting C=False/ConfigInvalid Ready=False/Starting Reconciling=True/Starting"},
		{"reported counts and is not written", []Finding{reported}, "Ready=False/Starting Reconciling=True/Starting"},
		{"quiet", []Finding{quiet}, "B=False/Starting Ready=False/Starting"},
		{"informative does not count", []Finding{informative}, "C=False/ConfigInvalid Ready=True/Ready"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, cond := range Summarise(7, "m", c.findings...) {
				if cond.ObservedGeneration != 7 {
					t.Errorf("generation %d", cond.ObservedGeneration)
				}
				got = append(got, fmt.Sprintf("%s=%s/%s", cond.Type, cond.Status, cond.Reason))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestTransition(t *testing.T) {
	ready := Summarise(1, "m", OK("A", v1alpha1.ReasonServed, "m"))
	waiting := Summarise(1, "", Waiting("A", v1alpha1.ReasonWaitingForGateway, "m"))
	changing := Summarise(1, "", Waiting("A", v1alpha1.ReasonReconciling, "m"))
	stalled := Summarise(1, "", Stalled("A", v1alpha1.ReasonConfigInvalid, "m"))
	other := Summarise(1, "", Stalled("A", v1alpha1.ReasonSecretNotFound, "m"))
	askedFor := Summarise(1, "", Finding{Type: "A", Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSuspended, Quiet: true})
	cases := []struct {
		name     string
		old, new []metav1.Condition
		want     string
	}{
		{"first seen ready", nil, ready, "Normal Ready"},
		{"becomes ready", waiting, ready, "Normal Ready"},
		{"stays ready", ready, ready, ""},
		{"first seen on the way", nil, waiting, ""},
		{"goes on", changing, waiting, ""},
		{"lost", ready, waiting, "Warning WaitingForGateway"},
		{"a change is carried out", ready, changing, ""},
		{"stalls", waiting, stalled, "Warning ConfigInvalid"},
		{"first seen stalled", nil, stalled, "Warning ConfigInvalid"},
		{"stays stalled", stalled, stalled, ""},
		{"another cause", stalled, other, "Warning SecretNotFound"},
		{"recovers half way", stalled, waiting, ""},
		{"was asked for", ready, askedFor, "Normal Suspended"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if e := Transition(c.old, c.new); e != nil {
				got = e.Type + " " + e.Reason
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The API refuses an event whose note is longer than 1024 bytes, and nobody would hear of it.
func TestMessagesFit(t *testing.T) {
	long := strings.Repeat("é", 5000)
	conds := Summarise(1, "", Stalled("A", v1alpha1.ReasonConfigInvalid, long))
	if m := meta.FindStatusCondition(conds, "A").Message; len(m) > maxMessage || !utf8.ValidString(m) {
		t.Errorf("message of %d bytes, valid %v", len(m), utf8.ValidString(m))
	}
	if m := Transition(nil, conds).Message; len(m) > 1024 || !utf8.ValidString(m) || !strings.HasSuffix(m, "…") {
		t.Errorf("note of %d bytes: %q", len(m), m[len(m)-8:])
	}
}

func TestFromError(t *testing.T) {
	terminal := FromError("A", v1alpha1.ReasonReconciling, fmt.Errorf("wrapped: %w", &Terminal{Reason: v1alpha1.ReasonPathInvalid, Err: errors.New("change it")}))
	if !terminal.Stalled || terminal.Reason != v1alpha1.ReasonPathInvalid {
		t.Errorf("%+v", terminal)
	}
	if other := FromError("A", v1alpha1.ReasonReconciling, errors.New("network")); other.Stalled || other.Reason != v1alpha1.ReasonReconciling {
		t.Errorf("%+v", other)
	}
}
