package profile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// backed is a profile with a model and a fallback that speaks the other dialect, each with a key of its own.
func backed(first, second *fakemodel.Server) profilehome.Spec {
	s := profilehome.Model(first.URL(), "sk-first")
	s.Config["fallback_providers"] = []any{map[string]any{"provider": "custom", "model": "fake-2", "base_url": second.MessagesURL()}}
	s.Env["HERMES_FALLBACK_1_API_KEY"] = "sk-second"
	return s
}

func newBacked(t *testing.T) (*rig, *fakemodel.Server) {
	t.Helper()
	first, second := startModel(t), startModel(t)
	first.AllowKeys("sk-first")
	second.AllowKeys("sk-second")
	return openRig(t, first, t.TempDir(), "alice", backed(first, second)), second
}

func keysSeen(s *fakemodel.Server) string {
	var out []string
	for _, r := range s.Requests() {
		out = append(out, r.Key)
	}
	return strings.Join(out, " ")
}

// TestFallbackAnswers: spec.model.fallbacks. The second model answers with its own key when the first refuses, people
// are told, and the tokens are booked where they were spent.
func TestFallbackAnswers(t *testing.T) {
	r, second := newBacked(t)
	r.model.AllowKeys("another")
	var told []llm.Fallback
	res, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: "hello"}, func(e agent.Event) {
		if e.Kind == agent.EventFallback {
			told = append(told, *e.Fallback)
		}
	})
	if err != nil || res.Reply != "you said: hello" || res.Model != "fake-2" {
		t.Fatalf("%+v %v", res, err)
	}
	if keysSeen(r.model) != "sk-first" || keysSeen(second) != "sk-second" {
		t.Errorf("keys %q and %q", keysSeen(r.model), keysSeen(second))
	}
	if len(told) != 1 || told[0].To != "custom/fake-2" || told[0].Err.Reason != llm.ReasonAuth {
		t.Errorf("told %+v", told)
	}
	r.expectHealth("", "; fallbacks answer because custom/fake-1 failed: 401")
	// A turn of several calls rests the first model and says so once.
	told = nil
	second.Script(fakemodel.Calls(call("a", "list_dir", `{"path":"."}`)), fakemodel.Calls(call("b", "list_dir", `{"path":"."}`)), fakemodel.Text("done"))
	_, err = r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", UserText: "go"}, func(e agent.Event) {
		if e.Kind == agent.EventFallback {
			told = append(told, *e.Fallback)
		}
	})
	if err != nil || len(told) != 1 || !told[0].Resting || keysSeen(r.model) != "sk-first" {
		t.Errorf("%v, told %+v, first model saw %q", err, told, keysSeen(r.model))
	}
}

// TestRevokedKeysOfFallbacks: each model has its own keys; one that is taken away is gone at the next call, and none
// ever takes another's place.
func TestRevokedKeysOfFallbacks(t *testing.T) {
	r, second := newBacked(t)
	r.mustSay("s", "one")
	spec := backed(r.model, second)
	delete(spec.Env, "HERMES_MODEL_API_KEY")
	r.rewrite(spec)
	r.runtime.Reload()
	r.mustSay("s", "two")
	if keysSeen(r.model) != "sk-first" || keysSeen(second) != "sk-second" {
		t.Fatalf("keys %q and %q", keysSeen(r.model), keysSeen(second))
	}
	r.expectHealth("", "open in")
	delete(spec.Env, "HERMES_FALLBACK_1_API_KEY")
	r.rewrite(spec)
	r.runtime.Reload()
	r.expectHealth(v1alpha1.ReasonCredentialMissing, "its fallbacks have none either")
	if _, err := r.say("s", "three"); err == nil || kind(t, err) != agent.KindCredentialMissing {
		t.Fatalf("got %v", err)
	}
	if keysSeen(r.model)+keysSeen(second) != "sk-firstsk-second" {
		t.Error("a request was sent without a key")
	}
}

// TestReadFallbacks says what to change.
func TestReadFallbacks(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "[]",
		"fallback_providers: [{provider: openrouter, model: a/b}, {base_url: 'http://127.0.0.1:1/v1', model: c, context_window: 8192}]": "[{openrouter a/b  0} {custom c http://127.0.0.1:1/v1 8192}]",
		"fallback_model: {provider: groq, model: x}":                                     "[{groq x  0}]",
		"fallback_providers: [{provider: groq}]":                                         "fallback_providers[0] names no model: set model",
		"fallback_providers: [{model: x}]":                                               "fallback_providers[0] names no provider: set provider",
		"fallback_providers: yes please":                                                 "config key",
		"fallback_providers: [" + strings.Repeat("{provider: groq, model: x},", 9) + "]": "fallback_providers has 9 entries: name at most 8",
	} {
		c, err := home.ParseConfig([]byte(text))
		must(t, err)
		list, err := readFallbacks(c)
		got := strings.Join(strings.Fields(fmt.Sprint(list)), " ")
		if err != nil {
			got = err.Error()
		}
		if want = strings.Join(strings.Fields(want), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	t.Run("a fallback that cannot be is named", func(t *testing.T) {
		s := profilehome.Demo()
		s.Config["fallback_providers"] = []any{map[string]any{"provider": "nobody", "model": "x"}}
		r := openRig(t, startModel(t), t.TempDir(), "alice", s)
		r.expectHealth(v1alpha1.ReasonConfigInvalid, `fallback_providers[0]: unknown provider "nobody"`)
	})
}

// TestT326: the tier of a session is that of the source it was made with, whoever speaks in it later.
func TestT326(t *testing.T) {
	m := startModel(t)
	spec := profilehome.Model(m.MessagesURL(), "k")
	spec.Config["prompt_caching"] = map[string]any{"cache_ttl": "auto"}
	r := openRig(t, m, t.TempDir(), "alice", spec)
	say := func(session, source string) {
		_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: session, Source: source, UserText: "x"}, nil)
		must(t, err)
	}
	say("person", "telegram")
	say("person", "cron")
	say("job", "cron")
	say("job", "telegram")
	for i, want := range []bool{true, true, false, false} {
		body := string(m.Requests()[i].Body)
		if !strings.Contains(body, `"cache_control"`) || strings.Contains(body, `"ttl":"1h"`) != want {
			t.Errorf("request %d: %s", i, body)
		}
	}
	spec.Config["prompt_caching"] = map[string]any{"cache_ttl": "off"}
	r.rewrite(spec)
	r.runtime.Reload()
	say("person", "cli")
	if body := string(m.Requests()[4].Body); strings.Contains(body, "cache_control") {
		t.Errorf("switched off: %s", body)
	}
}

// TestSignedThinkingOutlivesARestart: what the server wants back is in the store, and goes back as it came.
func TestSignedThinkingOutlivesARestart(t *testing.T) {
	m := startModel(t)
	root, spec := t.TempDir(), profilehome.Model(m.MessagesURL(), "k")
	r := openRig(t, m, root, "alice", spec)
	m.Script(fakemodel.Turn{Text: "look", Reasoning: "hm", Signature: "SIGNED", ToolCalls: []fakemodel.ToolCall{call("a", "list_dir", `{"path":"."}`)}}, fakemodel.Text("done"))
	r.mustSay("s", "hello")
	must(t, r.runtime.Close(context.Background()))
	r = openRig(t, m, root, "alice", spec)
	r.mustSay("s", "again")
	block := `{"type":"thinking","thinking":"hm","signature":"SIGNED"}`
	for i, q := range m.Requests()[1:] {
		if !strings.Contains(string(q.Body), `"content":[`+block+`,{"type":"text","text":"look"`) {
			t.Errorf("request %d: %s", i+1, q.Body)
		}
	}
	_, rows, _, err := r.runtime.Session(ctx(t), "s")
	must(t, err)
	if rows[1].Reasoning != "hm" || !strings.Contains(string(rows[1].ReasoningDetails), "SIGNED") {
		t.Errorf("stored %+v", rows[1])
	}
	for _, row := range rows {
		if strings.Contains(row.Content+row.APIContent+string(row.ToolCalls), "cache_control") {
			t.Errorf("S-423 a marker is in the store: %+v", row)
		}
	}
}
