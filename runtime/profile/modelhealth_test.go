package profile

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func (r *rig) expectHealth(reason, message string) {
	r.t.Helper()
	if h := r.runtime.Health(); h.Reason != reason || !strings.Contains(h.Message, message) {
		r.t.Errorf("health %s %q, want %s %q", h.Reason, h.Message, reason, message)
	}
}

// fail says something that the model answers with a fault.
func (r *rig) fail(f fakemodel.Fault) error {
	r.t.Helper()
	r.model.Script(fakemodel.Turn{Fault: f})
	_, err := r.say("s", "hello")
	if err == nil {
		r.t.Fatal("the turn succeeded")
	}
	return err
}

func TestModelOutcome(t *testing.T) {
	call := func(kind agent.Kind, reason llm.Reason, code string) error {
		return &agent.Error{Kind: kind, Err: &llm.Error{Verdict: llm.Verdict{Reason: reason}, Code: code, Host: "h", Message: "m"}}
	}
	for name, tc := range map[string]struct {
		err    error
		reason string
		known  bool
	}{
		"success":            {nil, "", true},
		"budget":             {&agent.Error{Kind: agent.KindBudget}, "", true},
		"refused key":        {call(agent.KindCredentialRefused, llm.ReasonAuth, ""), v1alpha1.ReasonModelRefused, true},
		"missing key":        {call(agent.KindCredentialMissing, llm.ReasonAuth, llm.CodeCredentialMissing), v1alpha1.ReasonCredentialMissing, true},
		"billing":            {call(agent.KindBilling, llm.ReasonBilling, ""), v1alpha1.ReasonModelRefused, true},
		"no such model":      {call(agent.KindModel, llm.ReasonModelNotFound, ""), v1alpha1.ReasonModelRefused, true},
		"certificate":        {call(agent.KindModel, llm.ReasonCertificate, ""), v1alpha1.ReasonModelRefused, true},
		"a web page":         {call(agent.KindModel, llm.ReasonFormat, llm.CodeNotAnAPI), v1alpha1.ReasonModelRefused, true},
		"a redirect":         {call(agent.KindModel, llm.ReasonFormat, llm.CodeRedirect), v1alpha1.ReasonModelRefused, true},
		"no connection":      {call(agent.KindModel, llm.ReasonTimeout, llm.CodeConnect), v1alpha1.ReasonModelUnreachable, true},
		"broken server":      {call(agent.KindModel, llm.ReasonServerError, ""), v1alpha1.ReasonModelUnreachable, true},
		"no capacity":        {call(agent.KindModel, llm.ReasonOverloaded, ""), v1alpha1.ReasonModelUnreachable, true},
		"a bad request":      {call(agent.KindModel, llm.ReasonFormat, ""), "", false},
		"a refused prompt":   {call(agent.KindModel, llm.ReasonContentPolicy, ""), "", false},
		"rate limit":         {call(agent.KindRateLimited, llm.ReasonRateLimit, ""), "", false},
		"an interruption":    {&agent.Error{Kind: agent.KindInterrupted, Err: context.Canceled}, "", false},
		"a store":            {&agent.Error{Kind: agent.KindPersistence, Err: errors.New("x")}, "", false},
		"a refused turn":     {ErrDraining, "", false},
		"a crash":            {&CrashError{Cause: "x"}, "", false},
		"stop during a call": {&agent.Error{Kind: agent.KindInterrupted, Err: &llm.Error{Verdict: llm.Verdict{Reason: llm.ReasonTimeout}}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message, known := modelOutcome(tc.err)
			if reason != tc.reason || known != tc.known || (message != "") != (reason != "") {
				t.Errorf("%q %q %t, want %q %t", reason, message, known, tc.reason, tc.known)
			}
		})
	}
}

// TestModelRefusedShows: a refused key shows until a turn succeeds, and a limit or an interruption in between tells nothing.
func TestModelRefusedShows(t *testing.T) {
	r := newRig(t)
	before := r.changes.Load()
	err := r.fail(fakemodel.Fault{Status: http.StatusUnauthorized, Message: "Incorrect API key"})
	if strings.Count(err.Error(), "401 ") != 1 || strings.Contains(err.Error(), "auth: ") {
		t.Errorf("the error says things twice: %v", err)
	}
	r.expectHealth(v1alpha1.ReasonModelRefused, "the last turn's model call failed: 401 from ")
	if r.changes.Load() == before {
		t.Error("nobody was told")
	}
	_ = r.fail(fakemodel.Fault{Status: http.StatusTooManyRequests, Message: "slow down"})
	r.expectHealth(v1alpha1.ReasonModelRefused, "Incorrect API key")
	r.model.Script(fakemodel.Text("well again"))
	r.mustSay("s", "again")
	r.expectHealth("", "open in")
}

// TestNewKeyClearsModelRefused: the condition does not outlive the key or the configuration it was said of.
func TestNewKeyClearsModelRefused(t *testing.T) {
	r := newRig(t)
	fault := fakemodel.Fault{Status: http.StatusUnauthorized, Message: "Incorrect API key"}
	_ = r.fail(fault)
	r.rewrite(profilehome.Model(r.model.URL(), "sk-rotated"))
	r.runtime.Reload()
	r.expectHealth("", "open in")
	_ = r.fail(fault)
	r.expectHealth(v1alpha1.ReasonModelRefused, "401")
	other := profilehome.Model(r.model.URL(), "sk-rotated")
	other.Config["model"].(map[string]any)["default"] = "fake-2"
	r.rewrite(other)
	r.runtime.Reload()
	r.expectHealth("", "open in")
}

func TestModelUnreachableShows(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", profilehome.Model(m.URL(), "sk-alice"), func(o *Options) {
		// A request that is half written when its old connection breaks would tell of that instead.
		o.Transport = &http.Transport{DisableKeepAlives: true}
	})
	_ = r.fail(fakemodel.Fault{Status: http.StatusInternalServerError, Message: "boom"})
	r.expectHealth(v1alpha1.ReasonModelUnreachable, "500 from ")
	must(t, m.Close())
	_, err := r.say("s", "hello")
	if kind(t, err) != agent.KindModel || strings.Contains(err.Error(), "timeout") || !strings.Contains(err.Error(), "cannot connect to the local model server 127.0.0.1:") {
		t.Errorf("turn: %v", err)
	}
	r.expectHealth(v1alpha1.ReasonModelUnreachable, "connection refused")
}

// TestInterruptionTellsNothingOfTheModel: a stopped turn leaves the health as it was.
func TestInterruptionTellsNothingOfTheModel(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}})
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "one")
		turn <- err
	}()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	r.runtime.Stop("s")
	if err := <-turn; kind(t, err) != agent.KindInterrupted {
		t.Errorf("stopped turn: %v", err)
	}
	r.expectHealth("", "open in")
}

// TestMissingKeyIsKnownBeforeTheFirstMessage: a provider that needs a key and has none is no surprise of the first turn.
func TestMissingKeyIsKnownBeforeTheFirstMessage(t *testing.T) {
	cloud := func(key string) profilehome.Spec {
		s := profilehome.Model("", key)
		s.Config["model"] = map[string]any{"provider": "openai", "default": "gpt"}
		return s
	}
	r := openRig(t, startModel(t), t.TempDir(), "alice", cloud(""))
	r.expectHealth(v1alpha1.ReasonCredentialMissing, "provider openai needs an API key")
	r.rewrite(cloud("sk-alice"))
	r.runtime.Reload()
	r.expectHealth("", "open in")
	r.rewrite(profilehome.Demo())
	r.runtime.Reload()
	r.expectHealth("", "open in")
	r.rewrite(profilehome.Model(r.model.URL(), ""))
	r.runtime.Reload()
	r.expectHealth("", "open in")
}

// TestTakenKeyIsMissing: a server that can do without a key had one, and it was taken away.
func TestTakenKeyIsMissing(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	r.rewrite(profilehome.Model(r.model.URL(), ""))
	r.runtime.Reload()
	r.expectHealth(v1alpha1.ReasonCredentialMissing, "needs an API key")
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: "two"}, nil)
	if kind(t, err) != agent.KindCredentialMissing {
		t.Errorf("turn: %v", err)
	}
	r.expectHealth(v1alpha1.ReasonCredentialMissing, "needs an API key")
}
