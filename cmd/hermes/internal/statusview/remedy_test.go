package statusview

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/api/v1alpha1"
)

func TestRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, message, namespace, want string
	}{
		"missing key":           {"CredentialMissing", `Secret "anthropic" has no key "API_KEY"`, "default", `echo "{apiVersion: v1, kind: Secret, metadata: {name: anthropic}, stringData: {API_KEY: '…'}}" | hermes apply -f -`},
		"missing key elsewhere": {"CredentialMissing", `Secret "a" has no value for key "K" (spec.env[0])`, "team", `echo "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {K: '…'}}" | hermes apply -f - -n team`},
		"key from the spec":     {"SecretNotFound", `Secret "openai" does not exist (spec.model.credentials[0].secretKeyRef)`, "default", `echo "{apiVersion: v1, kind: Secret, metadata: {name: openai}, stringData: {API_KEY: '…'}}" | hermes apply -f -`},
		"key nobody names":      {"SecretNotFound", `Secret "other" does not exist (spec.envFrom[0])`, "default", `echo "{apiVersion: v1, kind: Secret, metadata: {name: other}, stringData: {KEY: '…'}}" | hermes apply -f -`},
		"configmap":             {"ConfigMapNotFound", `ConfigMap "c" does not exist (x)`, "default", `echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {KEY: '…'}}" | hermes apply -f -`},
		"a name that is none":   {"SecretNotFound", `Secret "$(rm -rf)" does not exist`, "default", "hermes status profile/p"},
		"gateway of the spec":   {"WaitingForGateway", "x", "team", "hermes status gateway/home -n team"},
		"gateway not found":     {"GatewayNotFound", "x", "default", "hermes get gateways"},
		"waiting is the remedy": {"Starting", "x", "default", ""},
		"a key not declared":    {"CredentialMissing", "provider openai needs an API key and the profile has none", "default", "hermes explain profile.spec.model.credentials"},
		"a key refused":         {"ModelRefused", "the last turn's model call failed: 401 from api.openai.com: Incorrect API key", "default", `echo "{apiVersion: v1, kind: Secret, metadata: {name: openai}, stringData: {API_KEY: '…'}}" | hermes apply -f -`},
		"a model refused":       {"ModelRefused", "the last turn's model call failed: 404 from api.openai.com: no such model", "default", "hermes explain profile.spec.model"},
		"no server":             {"ModelUnreachable", "cannot connect", "team", "hermes chat -p p -n team"},
		"nothing known":         {"StoreCorrupt", "x", "default", "hermes status profile/p"},
	} {
		t.Run(name, func(t *testing.T) {
			p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: tc.namespace, Generation: 1}}
			p.Spec.GatewayRef.Name = "home"
			p.Spec.Model.Credentials = []v1alpha1.ModelCredential{{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "openai", Key: "API_KEY"}}}
			p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, 0, tc.reason, tc.message)}}
			view := New(Snapshot{Profiles: []v1alpha1.Profile{p}}, plane(), now)
			if got := view.Rows[0].Remedy; got != tc.want {
				t.Errorf("remedy = %q, want %q", got, tc.want)
			}
		})
	}
}

// A Schedule that is written wrongly points at the field to correct.
func TestScheduleRemedy(t *testing.T) {
	for reason, want := range map[string]string{
		"ScheduleInvalid": "hermes explain schedule.spec.schedule", "TimezoneInvalid": "hermes explain schedule.spec.timezone",
		"DeliverInvalid": "hermes explain schedule.spec.deliver", "JobRefused": "hermes status schedule/brief",
		"ProfileNotFound": "hermes get profiles",
	} {
		s := v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Name: "brief", Namespace: "default", Generation: 1}}
		s.Status = v1alpha1.ScheduleStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, 0, reason, "x")}}
		view := New(Snapshot{Schedules: []v1alpha1.Schedule{s}}, plane(), now)
		if got := view.Rows[0].Remedy; got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// A remedy that is broken over lines is still one command for a shell.
func TestRemedyLinesCanBeCopied(t *testing.T) {
	command := create("Secret", "stringData", "anthropic", "API_KEY", "a-rather-long-namespace-name")
	for _, width := range []int{50, 80, 120, 200} {
		lines := remedyLines(command, width, 33)
		joined := ""
		for _, line := range lines {
			joined += " " + strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(line), `\`), "→ ")
		}
		if got := strings.Join(strings.Fields(joined), " "); got != command {
			t.Errorf("width %d: %q, want %q", width, got, command)
		}
	}
}

// Also where every character must be ASCII, no command loses its end.
func TestRemedyIsNeverCut(t *testing.T) {
	s := sample()
	for width := 40; width <= 130; width++ {
		for _, only := range []bool{false, true} {
			text := Render(New(s, plane(), now), Options{Terminal: Terminal{Width: width, ASCII: only}, Now: now})
			joined := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", " ")), " ")
			if !strings.Contains(joined, `}}" | hermes apply -f - `) {
				t.Fatalf("width %d, ASCII %t: the command has no end:\n%s", width, only, text)
			}
		}
	}
}

// A Gateway that does not exist is named beside those that do; of another namespace none is.
func TestGatewayNotFoundNamesWhatThereIs(t *testing.T) {
	p := v1alpha1.Profile{ObjectMeta: object("p")}
	p.Spec.GatewayRef.Name = "hoem"
	p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, 0, "GatewayNotFound", "m")}}
	home, elsewhere := v1alpha1.Gateway{ObjectMeta: object("home")}, v1alpha1.Gateway{ObjectMeta: object("other")}
	elsewhere.Namespace = "elsewhere"
	for want, gateways := range map[string][]v1alpha1.Gateway{
		`GatewayNotFound: no "hoem", there is home`: {home, elsewhere},
		"GatewayNotFound: m":                        {elsewhere},
	} {
		view := New(Snapshot{Profiles: []v1alpha1.Profile{p}, Gateways: gateways}, plane(), now)
		for _, row := range view.Rows {
			if row.Kind == "Profile" && row.State != want {
				t.Errorf("state %q, want %q", row.State, want)
			}
		}
	}
}

// One object in full does not send the reader back to itself.
func TestDetailDoesNotPointToItself(t *testing.T) {
	p := v1alpha1.Profile{ObjectMeta: object("p")}
	p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, 0, "StoreCorrupt", "m")}}
	view := New(Snapshot{Profiles: []v1alpha1.Profile{p}}, plane(), now)
	if text := Detail(view, Options{Now: now}); strings.Contains(text, "hermes status") {
		t.Error(text)
	}
	if text := Render(view, Options{Now: now}); !strings.Contains(text, "hermes status profile/p") {
		t.Error(text)
	}
}

// What a shell makes of the lines as they are shown is the object that was meant.
func TestRemedyRunsAsShown(t *testing.T) {
	for _, width := range []int{50, 80, 200} {
		lines := remedyLines(create("Secret", "stringData", "anthropic", "API_KEY", ""), width, 33)
		script := strings.TrimPrefix(strings.TrimSpace(strings.Join(lines, "\n")), "→ ")
		script = strings.Replace(script, "hermes apply -f -", "cat", 1)
		script = strings.Replace(script, "hermes apply \\\n    -f -", "cat", 1)
		out, err := exec.Command("sh", "-c", script).CombinedOutput()
		var secret struct {
			Kind       string
			Metadata   struct{ Name string }
			StringData map[string]string
		}
		if err := errors.Join(err, yaml.Unmarshal(out, &secret)); err != nil {
			t.Fatalf("width %d: %v: %s\n%s", width, err, out, script)
		}
		if secret.Kind != "Secret" || secret.Metadata.Name != "anthropic" || secret.StringData["API_KEY"] != "…" {
			t.Errorf("width %d: %+v of\n%s", width, secret, script)
		}
	}
}

// A message that ends with the remedy does not make it be shown twice.
func TestRemedyIsShownOnce(t *testing.T) {
	for _, namespace := range []string{"default", "team"} {
		p := v1alpha1.Profile{ObjectMeta: object("alice")}
		p.Namespace, p.Spec.GatewayRef.Name = namespace, "home"
		p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, time.Minute, v1alpha1.ReasonWaitingForGateway, "Gateway home is not running (Draining): see hermes status gateway/home"),
		}}
		text := Render(New(Snapshot{Profiles: []v1alpha1.Profile{p}}, plane(), now), Options{Terminal: Terminal{Width: NoLimit}, Now: now})
		if strings.Count(text, "hermes status gateway/home") != 1 || !strings.Contains(text, "(Draining)\n") {
			t.Errorf("%s", text)
		}
	}
}

// One object in full does not tell its reader to run what they have just run, however that names the data directory.
func TestDetailLeavesOutItself(t *testing.T) {
	p := v1alpha1.Profile{ObjectMeta: object("alice"), Status: v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		condition("Ready", metav1.ConditionFalse, time.Minute, "SomethingNew", "m"),
	}}}
	view := New(Snapshot{Profiles: []v1alpha1.Profile{p}}, plane(), now)
	worded := view.Reworded(func(s string) string { return strings.Replace(s, "hermes ", "hermes --data /d ", 1) })
	if text := Render(worded, Options{Now: now}); !strings.Contains(text, "→ hermes --data /d status profile/alice") {
		t.Errorf("%s", text)
	}
	for _, v := range []View{view, worded} {
		if text := Detail(v, Options{Now: now}); strings.Contains(text, "→") {
			t.Errorf("%s", text)
		}
	}
}
