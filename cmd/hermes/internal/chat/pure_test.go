package chat

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

func TestPick(t *testing.T) {
	many := make([]string, 15)
	for i := range many {
		many[i] = "p" + string(rune('a'+i))
	}
	for name, c := range map[string]struct {
		names  []string
		wanted string
		want   string
		code   int
		says   string
	}{
		"named":        {[]string{"b", "a"}, "b", "b", 0, ""},
		"unknown":      {[]string{"b", "a"}, "c", "", exit.Failed, `no profile "c" here: a, b`},
		"none":         {nil, "", "", exit.Failed, "hermes apply"},
		"the only one": {[]string{"a"}, "", "a", 0, ""},
		"default":      {[]string{"a", "default"}, "", "default", 0, ""},
		"several":      {[]string{"b", "a"}, "", "", exit.Usage, "-p: a, b"},
		"very many":    {many, "", "", exit.Usage, "and 5 more"},
	} {
		got, err := pick(c.names, c.wanted, "here")
		if got != c.want || exit.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestChoose(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
	}
	profile := func(conditions []metav1.Condition, gateway string) v1alpha1.Profile {
		p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "alice", Namespace: "default"}}
		p.Status.Conditions = conditions
		p.Spec.GatewayRef.Name = gateway
		return p
	}
	gateway := func(name string, instance *v1alpha1.GatewayInstance) v1alpha1.Gateway {
		g := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		g.Status.Instance = instance
		return g
	}
	running := gateway("default", &v1alpha1.GatewayInstance{APISocket: "/s"})
	good := ready(metav1.ConditionTrue, "Ready", "")
	for name, c := range map[string]struct {
		profile  v1alpha1.Profile
		gateways []v1alpha1.Gateway
		want     Target
		says     []string
	}{
		"ready":          {profile(good, ""), []v1alpha1.Gateway{running}, Target{"alice", "default", "/s"}, nil},
		"named gateway":  {profile(good, "home"), []v1alpha1.Gateway{running, gateway("home", &v1alpha1.GatewayInstance{APISocket: "/h"})}, Target{"alice", "home", "/h"}, nil},
		"not ready":      {profile(ready(metav1.ConditionFalse, "CredentialMissing", `Secret "anthropic" has no key "API_KEY"`), ""), []v1alpha1.Gateway{running}, Target{}, []string{"CredentialMissing", `Secret "anthropic"`, "kind: Secret, metadata: {name: anthropic}, stringData: {API_KEY: "}},
		"model refused":  {profile(ready(metav1.ConditionFalse, "ModelRefused", "401"), ""), []v1alpha1.Gateway{running}, Target{"alice", "default", "/s"}, nil},
		"model is away":  {profile(ready(metav1.ConditionFalse, "ModelUnreachable", "x"), ""), []v1alpha1.Gateway{running}, Target{"alice", "default", "/s"}, nil},
		"not looked at":  {profile(nil, ""), []v1alpha1.Gateway{running}, Target{}, []string{"not ready", "nothing has looked at it yet"}},
		"no gateway":     {profile(good, "none"), []v1alpha1.Gateway{running}, Target{}, []string{"hermes status gateway/none"}},
		"not running":    {profile(good, ""), []v1alpha1.Gateway{gateway("default", nil)}, Target{}, []string{"does not run"}},
		"in the cluster": {profile(good, ""), []v1alpha1.Gateway{gateway("default", &v1alpha1.GatewayInstance{Pod: "x"})}, Target{}, []string{"engine Process"}},
	} {
		got, err := choose(statusview.Snapshot{Profiles: []v1alpha1.Profile{c.profile}, Gateways: c.gateways}, "default", "", time.Now())
		if got != c.want || (err == nil) != (c.says == nil) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for _, text := range c.says {
			if err == nil || !strings.Contains(err.Error(), text) || exit.Code(err) != exit.Failed {
				t.Errorf("%s: %v, want %q", name, err, text)
			}
		}
	}
	suspended := profile(ready(metav1.ConditionFalse, v1alpha1.ReasonSuspended, ""), "")
	suspended.Spec.Suspended = true
	if _, err := choose(statusview.Snapshot{Profiles: []v1alpha1.Profile{suspended}}, "default", "alice", time.Now()); err == nil || !strings.Contains(err.Error(), "spec.suspended") {
		t.Error(err)
	}
}

func TestDecisionOf(t *testing.T) {
	for in, want := range map[string]string{"o": "once", "ONCE": "once", " s ": "session", "always": "always", "d": "deny", "": "", "y": "", "on": "", "oo": ""} {
		got, ok := decisionOf(in)
		if got != want || ok != (want != "") {
			t.Errorf("decisionOf(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestHistoryOfLines(t *testing.T) {
	h := &history{}
	for _, line := range []string{"a", "a", "", "b"} {
		h.Add(line)
	}
	h.closed = true
	h.Add("secret answer")
	if h.Len() != 0 {
		t.Error("answers are offered")
	}
	h.closed = false
	if h.Len() != 2 || h.At(0) != "b" || h.At(1) != "a" {
		t.Errorf("%v", h.lines)
	}
	for range 2 * maxHistory {
		h.Add("x")
		h.Add("y")
	}
	if h.Len() != maxHistory {
		t.Error(h.Len())
	}
}
