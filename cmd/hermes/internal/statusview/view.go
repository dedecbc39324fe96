package statusview

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// Snapshot is every object to show, as read from the server.
type Snapshot struct {
	Gateways         []v1alpha1.Gateway
	Profiles         []v1alpha1.Profile
	RelayIdentities  []v1alpha1.RelayIdentity
	MetricsConsents  []v1alpha1.MetricsConsent
	Schedules        []v1alpha1.Schedule
	Manifests        []Manifest
	GatewayResidents map[string]int64 // bytes resident by namespace/name, for gateways of this machine that were seen running
}

// Manifest is a manifest of hermes up --manifests that is not applied.
type Manifest struct {
	// At is the file, with the line of the document where there is one.
	At string
	// Reason is stable, Message says what to change.
	Reason, Message string
	Since           time.Time
}

// ControlPlane says which control plane is shown.
type ControlPlane struct {
	// Kind is local for the data directory's own, else flag or environment.
	Kind string `json:"kind"`
	// Address is HOST:PORT of a local one, else the server's URL.
	Address string `json:"address"`
	// Kubeconfig is the path it was found by.
	Kubeconfig string `json:"kubeconfig"`
	// Since is when a local one was started.
	Since *time.Time `json:"since,omitempty"`
}

// Verdict is how an object does.
type Verdict string

// Verdicts. Only NotReady and Progressing keep hermes status from exit code 0.
const (
	NotReady    Verdict = "NotReady"
	Progressing Verdict = "Progressing"
	Ready       Verdict = "Ready"
	Suspended   Verdict = "Suspended"
)

// Row is one object.
type Row struct {
	Kind, Namespace, Name string
	Verdict               Verdict
	// Since is when the verdict became what it is; nil when nothing has said anything yet.
	Since *time.Time
	// Reason and Message are those of the condition that explains the verdict.
	Reason, Message string
	// State is what to show in one line.
	State string
	// Remedy is a command to run, empty when there is nothing to do.
	Remedy string
	// Conditions are all that is known, as the object has them.
	Conditions []metav1.Condition
}

// View is what hermes status shows.
type View struct {
	ControlPlane ControlPlane
	Rows         []Row
}

// NeedAttention counts the rows that are not as declared.
func (v View) NeedAttention() int {
	n := 0
	for _, r := range v.Rows {
		if r.Verdict == NotReady || r.Verdict == Progressing {
			n++
		}
	}
	return n
}

// New judges every object of a snapshot. Rows that need attention come first; within each half gateways
// come before what depends on them, then names in order.
func New(s Snapshot, cp ControlPlane, now time.Time) View {
	v := View{ControlPlane: cp}
	for _, m := range s.Manifests {
		v.add(manifestRow(m), nil)
	}
	for i := range s.Gateways {
		g := &s.Gateways[i]
		v.add(judge(g, "Gateway", g.Status.Conditions, g.Status.ObservedGeneration), func() string { return gatewayState(g, s, now) })
	}
	for i := range s.Profiles {
		p := &s.Profiles[i]
		row := judge(p, "Profile", p.Status.Conditions, p.Status.ObservedGeneration)
		if p.Spec.Suspended && row.Reason == v1alpha1.ReasonSuspended {
			row.Verdict = Suspended
		}
		row.Remedy = profileRemedy(p, row)
		if row.Reason == v1alpha1.ReasonGatewayNotFound {
			row.State = gatewayNotFound(p, s.Gateways)
		}
		v.add(row, func() string { return profileState(p, s, now) })
	}
	for i := range s.RelayIdentities {
		r := &s.RelayIdentities[i]
		v.add(judge(r, "RelayIdentity", r.Status.Conditions, r.Status.ObservedGeneration), func() string { return relayState(r, now) })
	}
	for i := range s.MetricsConsents {
		m := &s.MetricsConsents[i]
		v.add(judge(m, "MetricsConsent", m.Status.Conditions, m.Status.ObservedGeneration), func() string { return consentState(m) })
	}
	for i := range s.Schedules {
		sched := &s.Schedules[i]
		row := judge(sched, "Schedule", sched.Status.Conditions, sched.Status.ObservedGeneration)
		if sched.Spec.Suspend && row.Reason == v1alpha1.ReasonSuspended {
			row.Verdict = Suspended
		}
		v.add(row, func() string { return scheduleState(sched, now) })
	}
	slices.SortStableFunc(v.Rows, compareRows)
	return v
}

// add completes a row with its state and its remedy.
func (v *View) add(row Row, ready func() string) {
	switch row.Verdict {
	case Ready:
		row.State = ready()
		if row.State == "" {
			row.State = "ready"
		}
	case Suspended:
		row.State = "suspended"
	default:
		if row.State == "" {
			row.State = strings.TrimSuffix(row.Reason+": "+row.Message, ": ")
		}
		if row.Remedy == "" {
			row.Remedy = remedy(row)
		}
	}
	v.Rows = append(v.Rows, row)
}

func manifestRow(m Manifest) Row {
	row := Row{Kind: manifestKind, Name: filepath.Base(m.At), Verdict: NotReady, Reason: m.Reason, Message: m.At + ": " + m.Message}
	if m.At == "" { // something that left the directory and could not be deleted
		row.Name, row.Message = "-", m.Message
	}
	if !m.Since.IsZero() {
		row.Since = &m.Since
	}
	return row
}

// manifestKind is the kind of rows about files; it is none of the API.
const manifestKind = "Manifest"

func compareRows(a, b Row) int {
	if d := verdictOrder(a.Verdict) - verdictOrder(b.Verdict); d != 0 {
		return d
	}
	if d := kindOrder(a.Kind) - kindOrder(b.Kind); d != 0 {
		return d
	}
	if d := strings.Compare(a.Namespace, b.Namespace); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}

func verdictOrder(v Verdict) int {
	return slices.Index([]Verdict{NotReady, Progressing, Ready, Suspended}, v)
}

func kindOrder(kind string) int {
	return slices.Index([]string{manifestKind, "Gateway", "Profile", "RelayIdentity", "MetricsConsent", "Schedule"}, kind)
}

// judge reads the kstatus conditions of an object. A status that is about an older spec is no news about
// this one.
func judge(o metav1.Object, kind string, conditions []metav1.Condition, observed int64) Row {
	row := Row{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Conditions: conditions}
	created := o.GetCreationTimestamp().Time
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case o.GetDeletionTimestamp() != nil:
		row.Verdict, row.Since = Progressing, &o.GetDeletionTimestamp().Time
		row.Reason, row.Message = v1alpha1.ReasonDeleting, "waits for "+waitsFor(o.GetFinalizers())
		if ready != nil && ready.Reason == v1alpha1.ReasonDeleting && ready.Message != "" {
			row.Message = ready.Message
		}
		return row
	case ready == nil:
		row.Verdict, row.Since = Progressing, &created
		row.Reason, row.Message = "Pending", "nothing has looked at it yet"
		return row
	case observed != o.GetGeneration():
		row.Verdict = Progressing
		row.Reason, row.Message = v1alpha1.ReasonReconciling, "the latest change is not acted on yet"
		return row
	}
	row.Reason, row.Message = ready.Reason, ready.Message
	row.Since = &ready.LastTransitionTime.Time
	row.Verdict = verdictOf(*ready, conditions)
	return row
}

func waitsFor(finalizers []string) string {
	if len(finalizers) == 0 {
		return "the server"
	}
	return strings.Join(finalizers, ", ")
}

// verdictOf tells an object on its way from one that needs a person or a repair.
func verdictOf(ready metav1.Condition, conditions []metav1.Condition) Verdict {
	switch {
	case ready.Status == metav1.ConditionTrue:
		return Ready
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled):
		return NotReady
	case slices.Contains([]string{v1alpha1.ReasonReconciling, v1alpha1.ReasonWaitingForGateway, v1alpha1.ReasonStarting,
		v1alpha1.ReasonDraining, v1alpha1.ReasonDeleting}, ready.Reason):
		return Progressing
	}
	return NotReady
}

// SeveralNamespaces reports whether rows are of more than one namespace.
func (v View) SeveralNamespaces() bool {
	first := ""
	return slices.ContainsFunc(v.Rows, func(r Row) bool {
		if first == "" {
			first = r.Namespace
		}
		return r.Namespace != "" && r.Namespace != first
	})
}
