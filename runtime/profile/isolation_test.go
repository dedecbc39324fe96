package profile

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// hostile is an environment that tries to pass for somebody else's.
func hostile(own, other string) map[string]string {
	return map[string]string{
		"HERMES_MODEL_API_KEY": "sk-" + own, "OPENAI_API_KEY": "tool-" + own, "HOME": "/home/" + other, "PATH": "/usr/bin:/bin",
		"HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "XDG_CONFIG_HOME": "/home/" + other, "ENV": "/home/" + other, "TOKEN": "token-" + own + "\n$TOKEN ${HOME} `id`",
	}
}

// TestEnvironmentsNeverMeet: every reader of variables and keys, in two profiles that answer at the same time and in a
// process whose own environment names keys too.
func TestEnvironmentsNeverMeet(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "HERMES_MODEL_API_KEY", "HERMES_HOME", "HERMES_PROFILE"} {
		t.Setenv(name, "sk-process")
	}
	m, root := startModel(t), t.TempDir()
	m.Respond(func(r fakemodel.Request) fakemodel.Turn {
		ms := r.Parsed.Decoded()
		if ms[len(ms)-1].Role == "tool" {
			return fakemodel.Text("done")
		}
		return fakemodel.Calls(
			call("env", "terminal", `{"command":"cat /proc/self/environ | tr '\\0' '\\n'; env"}`),
			call("other", "read_file", `{"path":"../../`+ms[len(ms)-1].Content+`/.env"}`),
			call("own", "read_file", `{"path":"../.env"}`),
		)
	})
	rigs := map[string]*rig{}
	for own, other := range map[string]string{"alice": "bob", "bob": "alice"} {
		s := profilehome.Model(m.URL(), "")
		s.Env = hostile(own, other)
		rigs[own] = openRig(t, m, root, own, s)
	}
	var wg sync.WaitGroup
	for own, r := range rigs {
		for i := range 5 {
			wg.Go(func() {
				session := strings.Repeat("s", i+1) // the same ids in both
				_, err := r.runtime.Turn(context.Background(), agent.Turn{SessionID: session, Source: "cli", UserText: map[string]string{"alice": "bob", "bob": "alice"}[own]}, nil)
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for own, r := range rigs {
		other := map[string]string{"alice": "bob", "bob": "alice"}[own]
		sessions := 0
		for i := range 5 {
			_, rows, ok, err := r.runtime.Session(ctx(t), strings.Repeat("s", i+1))
			must(t, err)
			if ok {
				sessions++
			}
			text := ""
			for _, row := range rows {
				text += row.Content
			}
			for _, leak := range []string{"sk-" + own, "sk-" + other, "sk-process", "tool-" + other, "token-" + other} {
				if strings.Contains(text, leak) {
					t.Errorf("%s's session holds %s", own, leak)
				}
			}
			if !strings.Contains(text, "OPENAI_API_KEY=tool-"+own) || !strings.Contains(text, "HERMES_HOME="+r.runtime.Paths().Home) {
				t.Errorf("%s's commands do not see their own: %.400s", own, text)
			}
		}
		if sessions != 5 {
			t.Errorf("%s has %d sessions", own, sessions)
		}
	}
	seen := map[string]int{}
	for _, q := range m.Requests() {
		seen[q.Key]++
		prompt := q.Parsed.Decoded()[0].Content
		own := strings.TrimPrefix(q.Key, "sk-")
		if !strings.Contains(prompt, "/profiles/"+own+"/") {
			t.Errorf("key %s with the prompt %s", q.Key, prompt)
		}
	}
	if got := slices.Sorted(maps.Keys(seen)); strings.Join(got, " ") != "sk-alice sk-bob" || seen["sk-alice"] != 10 || seen["sk-bob"] != 10 {
		t.Errorf("keys seen by the server: %v", seen)
	}
}

// TestRevokedKey: a key that is taken away is not used again, by anybody, and its lack has a name.
func TestRevokedKey(t *testing.T) {
	r := newRig(t)
	r.model.AllowKeys("sk-alice", "sk-new")
	r.mustSay("s", "one")
	r.rewrite(profilehome.Model(r.model.URL(), ""))
	before := len(r.model.Requests())
	if _, err := r.say("s", "two"); kind(t, err) != agent.KindCredentialMissing {
		t.Errorf("after the key was revoked: %v", err)
	}
	if n := len(r.model.Requests()); n != before {
		t.Error("a request was sent")
	}
	r.rewrite(profilehome.Model(r.model.URL(), "sk-new"))
	r.mustSay("s", "three")
	r.rewrite(profilehome.Model(r.model.URL(), "sk-wrong"))
	if _, err := r.say("s", "four"); kind(t, err) != agent.KindCredentialRefused {
		t.Errorf("with a wrong key: %v", err)
	}
}

// TestSecondKey: the next key is taken when the first is refused.
func TestSecondKey(t *testing.T) {
	m := startModel(t)
	s := profilehome.Model(m.URL(), "sk-first")
	s.Env["HERMES_MODEL_API_KEY_2"] = "sk-second"
	r := openRig(t, m, t.TempDir(), "alice", s)
	m.AllowKeys("sk-second")
	r.mustSay("s", "one")
}

// TestKeylessServer: a server that needs no key is asked without one, until one is declared.
func TestKeylessServer(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", profilehome.Model(m.URL(), ""))
	r.mustSay("s", "one")
	if got := m.Requests()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("sent %q", got)
	}
	r.rewrite(profilehome.Model(m.URL(), "sk-alice"))
	r.mustSay("s", "two")
	if got := m.Requests()[1].Key; got != "sk-alice" {
		t.Errorf("sent %q", got)
	}
}

// TestUnreadableSecrets fail closed.
func TestUnreadableSecrets(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	must(t, os.WriteFile(r.runtime.Paths().Env(), []byte("not a variable"), 0o600))
	if _, err := r.say("s", "two"); err == nil || strings.Contains(err.Error(), "not a variable") {
		t.Errorf("turn: %v", err)
	}
	if h := r.runtime.Health(); h.Reason != "ConfigInvalid" {
		t.Errorf("health %+v", h)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
