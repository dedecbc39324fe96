package statusview

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"hermes.dev/hermes/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 8, 27, 8, 12, 0, 0, time.UTC)

func at(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }

func condition(kind string, status metav1.ConditionStatus, ago time.Duration, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: at(ago)}
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", Generation: 1, CreationTimestamp: at(4 * time.Hour)}
}

// sample is the snapshot of the example in design §9.
func sample() Snapshot {
	next := metav1.NewTime(time.Date(2026, 8, 27, 9, 0, 0, 0, time.UTC))
	ready := func(ago time.Duration, more ...metav1.Condition) []metav1.Condition {
		return append([]metav1.Condition{condition("Ready", metav1.ConditionTrue, ago, "Ready", "")}, more...)
	}
	return Snapshot{
		Gateways: []v1alpha1.Gateway{{
			ObjectMeta: object("home"),
			Status: v1alpha1.GatewayStatus{
				ObservedGeneration: 1, Conditions: ready(3*time.Hour + 12*time.Minute), ServedProfiles: ptr.To[int32](4),
				Instance: &v1alpha1.GatewayInstance{ID: "x", PID: 4121, Revision: "1f3c9ab88d2e"},
			},
		}},
		Profiles: []v1alpha1.Profile{
			{
				ObjectMeta: object("alice"),
				Status: v1alpha1.ProfileStatus{
					ObservedGeneration: 1,
					Conditions:         ready(3*time.Hour+11*time.Minute, condition("CronTickOwned", metav1.ConditionTrue, time.Hour, "Owned", "")),
					Store:              &v1alpha1.StoreStatus{LastActivity: ptr.To(at(2 * time.Minute))},
					CronTick:           &v1alpha1.CronTickStatus{NextRun: &next},
				},
			},
			{
				ObjectMeta: object("work"),
				Status: v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
					condition("Ready", metav1.ConditionFalse, 4*time.Minute, v1alpha1.ReasonCredentialMissing, `Secret "anthropic" has no key "API_KEY"`),
					condition("Stalled", metav1.ConditionTrue, 4*time.Minute, v1alpha1.ReasonCredentialMissing, ""),
				}},
			},
			{ObjectMeta: object("new")},
			{
				ObjectMeta: object("paused"),
				Spec:       v1alpha1.ProfileSpec{Suspended: true},
				Status: v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
					condition("Ready", metav1.ConditionFalse, 48*time.Hour, v1alpha1.ReasonSuspended, "spec.suspended is set"),
				}},
			},
		},
		RelayIdentities: []v1alpha1.RelayIdentity{{
			ObjectMeta: object("slack"),
			Status: v1alpha1.RelayIdentityStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
				condition("Ready", metav1.ConditionFalse, 12*time.Second, "Reconnecting", "connector closed with 1012, next attempt in 8s"),
			}},
		}},
		MetricsConsents: []v1alpha1.MetricsConsent{{
			ObjectMeta: object("alice"),
			Spec:       v1alpha1.MetricsConsentSpec{Collect: true},
			Status: v1alpha1.MetricsConsentStatus{
				ObservedGeneration: 1, Conditions: ready(3*time.Hour + 11*time.Minute),
				Window: &v1alpha1.ConsentWindow{State: "Closed", ClosedAt: ptr.To(at(time.Hour))},
			},
		}},
		Schedules: []v1alpha1.Schedule{{
			ObjectMeta: object("brief"),
			Spec:       v1alpha1.ScheduleSpec{ProfileRef: v1alpha1.ProfileRef{Name: "alice"}},
			Status: v1alpha1.ScheduleStatus{
				ObservedGeneration: 1, Conditions: ready(3 * time.Hour), NextRun: &next,
				LastRun: &v1alpha1.ScheduleRun{At: at(23 * time.Hour), Outcome: "Succeeded", Lateness: &metav1.Duration{Duration: 5 * time.Minute}},
			},
		}},
		GatewayResidents: map[string]int64{"default/home": 41 << 20},
	}
}

func plane() ControlPlane {
	since := now.Add(-3*time.Hour - 12*time.Minute)
	return ControlPlane{Kind: "local", Address: "127.0.0.1:34567", Kubeconfig: "/data/controlplane/kubeconfig", Since: &since}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update once", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestRenderGolden(t *testing.T) {
	view := New(sample(), plane(), now)
	for name, o := range map[string]Options{
		"status-80.txt":    {},
		"status-120.txt":   {Terminal: Terminal{Width: 120}},
		"status-ascii.txt": {Terminal: Terminal{ASCII: true}},
		"status-color.txt": {Terminal: Terminal{Color: true}},
		"status-all.txt":   {AllNamespaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Now = now
			golden(t, name, Render(view, o))
		})
	}
	t.Run("empty", func(t *testing.T) {
		golden(t, "status-empty.txt", Render(New(Snapshot{}, plane(), now), Options{Now: now, Scope: "in namespace default"}))
	})
	t.Run("detail", func(t *testing.T) {
		s := sample()
		s.Profiles = s.Profiles[1:2]
		one := New(Snapshot{Profiles: s.Profiles}, ControlPlane{Kind: "environment", Address: "https://cluster.example:6443", Kubeconfig: "/home/me/.kube/config"}, now)
		golden(t, "status-detail.txt", Detail(one, Options{Now: now}))
	})
	t.Run("json", func(t *testing.T) {
		raw, err := json.MarshalIndent(JSON(view), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "status.json", string(raw)+"\n")
	})
}

// Whatever an object says, no line is wider than the terminal, and nothing reaches the terminal that it
// would act on.
func TestRenderKeepsToTheTerminal(t *testing.T) {
	s := sample()
	s.Profiles[1].Status.Conditions[0].Message = "bad \x1b[31mred\x1b]0;title\a " + strings.Repeat("very long 日本語 text ", 40) + "\nsecond\tline \u202e"
	s.Profiles[0].Name = strings.Repeat("n", 63)
	for _, width := range []int{0, 40, 60, 80, 100, 200} {
		for _, ascii := range []bool{false, true} {
			o := Options{Terminal: Terminal{Width: width, ASCII: ascii}, Now: now, AllNamespaces: true}
			view := New(s, plane(), now)
			limit := width
			if width == 0 {
				limit = 80
			}
			for _, text := range []string{Render(view, o), Detail(view, o)} {
				for line := range strings.Lines(text) {
					line = strings.TrimSuffix(line, "\n")
					if w := runewidth.StringWidth(line); w > limit {
						t.Errorf("width %d: line of %d columns: %q", limit, w, line)
					}
					if strings.ContainsAny(line, "\x1b\a\t\r") || strings.Contains(line, "\u202e") {
						t.Errorf("control characters in %q", line)
					}
					if ascii && strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
						t.Errorf("not ASCII: %q", line)
					}
				}
			}
		}
	}
}

// What is not a terminal gets every word on one line; one object is shown in full at any width.
func TestNothingIsLost(t *testing.T) {
	s := sample()
	long := strings.Repeat("very long text ", 40) + "/" + strings.Repeat("path", 60) + " end"
	s.Profiles[1].Status.Conditions[0].Message = long
	s.Profiles[1].Name = strings.Repeat("n", 63)
	view := New(s, plane(), now)
	whole := Render(view, Options{Terminal: Terminal{Width: NoLimit}, Now: now})
	for _, want := range []string{long, s.Profiles[1].Name} {
		if !strings.Contains(whole, want) {
			t.Errorf("without a limit %q is cut:\n%s", want, whole)
		}
	}
	if strings.Contains(whole, "…\n") {
		t.Errorf("something is cut:\n%s", whole)
	}
	one := New(Snapshot{Profiles: s.Profiles[1:2]}, plane(), now)
	for _, width := range []int{NoLimit, 60, 80, 200} {
		text := strings.Join(strings.Fields(Detail(one, Options{Terminal: Terminal{Width: width}, Now: now})), "")
		state := strings.Join(strings.Fields(one.Rows[0].State), "")
		if !strings.Contains(text, state) {
			t.Errorf("width %d: the state is cut:\n%s", width, text)
		}
		if n := strings.Count(text, strings.Join(strings.Fields(long), "")); n < 2 {
			t.Errorf("width %d: the message is there %d times in full, want in the state and in its condition:\n%s", width, n, text)
		}
	}
}

func TestVerdict(t *testing.T) {
	profile := func(change func(*v1alpha1.Profile)) Snapshot {
		p := v1alpha1.Profile{ObjectMeta: object("p")}
		p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionTrue, time.Hour, "Ready", "")}}
		change(&p)
		return Snapshot{Profiles: []v1alpha1.Profile{p}}
	}
	set := func(status metav1.ConditionStatus, reason string) func(*v1alpha1.Profile) {
		return func(p *v1alpha1.Profile) {
			p.Status.Conditions = []metav1.Condition{condition("Ready", status, time.Hour, reason, "m")}
		}
	}
	for name, tc := range map[string]struct {
		in     Snapshot
		want   Verdict
		reason string
	}{
		"ready":                                {profile(func(*v1alpha1.Profile) {}), Ready, "Ready"},
		"no condition is not ready":            {profile(func(p *v1alpha1.Profile) { p.Status.Conditions = nil }), Progressing, "Pending"},
		"ready about an older spec is no news": {profile(func(p *v1alpha1.Profile) { p.Generation = 2 }), Progressing, "Reconciling"},
		"unknown is not ready":                 {profile(set(metav1.ConditionUnknown, "NotResponding")), NotReady, "NotResponding"},
		"on its way":                           {profile(set(metav1.ConditionFalse, v1alpha1.ReasonReconciling)), Progressing, "Reconciling"},
		"waits for its gateway":                {profile(set(metav1.ConditionFalse, v1alpha1.ReasonWaitingForGateway)), Progressing, "WaitingForGateway"},
		"stalled while reconciling": {profile(func(p *v1alpha1.Profile) {
			set(metav1.ConditionFalse, v1alpha1.ReasonReconciling)(p)
			p.Status.Conditions = append(p.Status.Conditions, condition("Stalled", metav1.ConditionTrue, 0, "x", ""))
		}), NotReady, "Reconciling"},
		"suspended on purpose": {profile(func(p *v1alpha1.Profile) {
			p.Spec.Suspended = true
			set(metav1.ConditionFalse, v1alpha1.ReasonSuspended)(p)
		}), Suspended, "Suspended"},
		"not built yet": {profile(func(p *v1alpha1.Profile) {
			set(metav1.ConditionFalse, v1alpha1.ReasonNotImplemented)(p)
			p.Status.Conditions = append(p.Status.Conditions, condition("Stalled", metav1.ConditionTrue, 0, v1alpha1.ReasonNotImplemented, ""))
		}), NotImplemented, "NotImplemented"},
		"suspended by nobody needs attention": {profile(set(metav1.ConditionFalse, v1alpha1.ReasonSuspended)), NotReady, "Suspended"},
		"deleting": {profile(func(p *v1alpha1.Profile) {
			p.DeletionTimestamp, p.Finalizers = ptr.To(at(time.Minute)), []string{v1alpha1.FinalizerHome}
		}), Progressing, "Deleting"},
	} {
		t.Run(name, func(t *testing.T) {
			view := New(tc.in, plane(), now)
			if row := view.Rows[0]; row.Verdict != tc.want || row.Reason != tc.reason {
				t.Errorf("verdict %s, reason %s, want %s, %s", row.Verdict, row.Reason, tc.want, tc.reason)
			}
			attention := 1
			if tc.want == Ready || tc.want == Suspended || tc.want == NotImplemented {
				attention = 0
			}
			if view.NeedAttention() != attention {
				t.Errorf("NeedAttention = %d, want %d", view.NeedAttention(), attention)
			}
		})
	}
}

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Hour, "12s": 12 * time.Second, "59s": 59*time.Second + 900*time.Millisecond, "4m": 4*time.Minute + 59*time.Second,
		"3h": 3 * time.Hour, "3h12m": 3*time.Hour + 12*time.Minute, "1d": 24 * time.Hour, "2d4h": 52 * time.Hour, "12d": 12*24*time.Hour + 5*time.Hour,
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}

// The count of a gateway is written less often than its profiles' own conditions; the table shows one truth.
func TestGatewayCountsTheProfilesThatSayTheyAreServed(t *testing.T) {
	g := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "home"}, Status: v1alpha1.GatewayStatus{ServedProfiles: ptr.To[int32](0)}}
	profile := func(namespace, gateway string, served metav1.ConditionStatus) v1alpha1.Profile {
		p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}}
		p.Spec.GatewayRef.Name = gateway
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionServed, Status: served}}
		return p
	}
	s := Snapshot{Profiles: []v1alpha1.Profile{
		profile("a", "home", metav1.ConditionTrue), profile("a", "home", metav1.ConditionFalse),
		profile("a", "other", metav1.ConditionTrue), profile("b", "home", metav1.ConditionTrue),
	}}
	if got := gatewayState(&g, s, time.Now()); got != "serving 1 profile" {
		t.Errorf("got %q", got)
	}
}

// A profile that answers as declared says nothing of being served; what a gateway adds to it is shown.
func TestWhatAGatewayAdds(t *testing.T) {
	for message, want := range map[string]string{
		"open": "", "open in /h": "",
		"open in /h; answering with b because a failed": "answering with b because a failed",
		"open; skill x is not there":                    "skill x is not there",
	} {
		p := v1alpha1.Profile{Status: v1alpha1.ProfileStatus{
			Gateway:    &v1alpha1.ProfileGatewayStatus{Home: "/h"},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue, Message: message}},
		}}
		if got := standsIn(&p); got != want {
			t.Errorf("%q shows %q, want %q", message, got, want)
		}
	}
}
