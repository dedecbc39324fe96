package profile

import (
	"context"
	"strings"
	"sync"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// titles collects what a rename lane would be told.
type titles struct {
	mu   sync.Mutex
	got  []string
	news chan struct{}
}

func (l *titles) watch(o *Options) {
	l.news = make(chan struct{}, 64)
	o.Titled = func(e agent.TitleEvent) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got = append(l.got, e.Source+":"+e.Title)
		l.news <- struct{}{}
	}
}

func (l *titles) wait(t *testing.T, n int) string {
	t.Helper()
	for range n {
		select {
		case <-l.news:
		case <-ctx(t).Done():
			t.Fatal("no title came")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.got, " ")
}

// untitled waits until nobody thinks about a title any more.
func (r *rig) untitled() {
	r.runtime.mu.Lock()
	e := r.runtime.engine
	r.runtime.mu.Unlock()
	e.turns.Wait()
}

func (r *rig) session(id string) store.Session {
	r.t.Helper()
	s, _, _, err := r.runtime.Session(ctx(r.t), id)
	must(r.t, err)
	return s
}

// TestTitles: S-241, both stages with their names, in an auxiliary call of its own, once, and never over a person's
// choice.
func TestTitles(t *testing.T) {
	var told titles
	r := newRig(t, told.watch)
	gate := make(chan struct{})
	r.model.Title(fakemodel.Turn{Text: "\"Fixing the Build.\"", Gate: gate, Usage: fakemodel.Usage{Prompt: 30, Completion: 4}})
	r.mustSay("s", "my build is broken\nhelp") // the reply does not wait for the title
	if got := told.wait(t, 1); got != "derived:my build is broken" || r.session("s").Title != "my build is broken" {
		t.Errorf("S-241 first stage: %q, stored %q", got, r.session("s").Title)
	}
	close(gate)
	if got := told.wait(t, 1); got != "derived:my build is broken llm:Fixing the Build" {
		t.Errorf("S-241 second stage: %q", got)
	}
	if s := r.session("s"); s.Title != "Fixing the Build" || s.TitleSource != store.TitleLLM || s.Usage.APICalls != 2 {
		t.Errorf("stored %q of %q, %+v", s.Title, s.TitleSource, s.Usage)
	}
	ask := r.model.TitleRequests()[0]
	if len(ask.Parsed.Tools) != 0 || !strings.Contains(string(ask.Body), "you said: my build is broken") || !strings.Contains(string(ask.Body), `"max_`) || len(ask.Parsed.Messages) != 2 {
		t.Errorf("asked %s", ask.Body)
	}
	r.mustSay("s", "more")
	r.mustSay("other", "my build is broken")
	if got := told.wait(t, 2); !strings.HasSuffix(got, "derived:my build is broken llm:Fixing the Build (2)") {
		t.Errorf("S-241 a title that is taken: %q", got)
	}
	if n := len(r.model.TitleRequests()); n != 2 {
		t.Errorf("S-241 %d requests for a title of two sessions", n)
	}
	// The session's own requests know nothing of it: what was sent before is their prefix.
	rs := r.model.Requests()
	if first, second := string(rs[0].Body), string(rs[1].Body); !strings.HasPrefix(second, strings.TrimSuffix(first, "]}")) {
		t.Errorf("S-241 the prefix changed:\n%s\n%s", first, second)
	}
}

// TestTitleYields: a person's name that comes while the model thinks stays, and a failure of the model changes nothing.
func TestTitleYields(t *testing.T) {
	for name, turn := range map[string]fakemodel.Turn{"a person's name": {Text: "The Model's"}, "a failure": fakemodel.Status(500), "no title": {Text: "\"\""}} {
		t.Run(name, func(t *testing.T) {
			var told titles
			r := newRig(t, told.watch)
			gate := make(chan struct{})
			turn.Gate = gate
			r.model.Title(turn)
			r.mustSay("s", "hello")
			_, err := r.model.WaitTitles(ctx(t), 1)
			must(t, err)
			want := "hello"
			if name == "a person's name" {
				want = "mine"
				st, release, err := r.runtime.store.acquire(ctx(t))
				must(t, err)
				must(t, st.SetTitle(ctx(t), "s", want, store.TitleUser))
				release()
			}
			close(gate)
			r.untitled()
			must(t, r.runtime.Close(context.Background()))
			if len(told.got) != 1 {
				t.Errorf("told %q", told.got)
			}
			again := openRig(t, r.model, r.root, "alice", profilehome.Model(r.model.URL(), "sk-alice"))
			if s := again.session("s"); s.Title != want {
				t.Errorf("S-241 titled %q of %q", s.Title, s.TitleSource)
			}
			again.mustSay("s", "more")
			again.untitled()
			if n := len(r.model.TitleRequests()); n != 1 {
				t.Errorf("S-241 asked %d times", n)
			}
		})
	}
}

// TestTitlesThatNobodyReads: sessions that no person paces get the immediate title only, and the model's can be
// switched off.
func TestTitlesThatNobodyReads(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	off := profilehome.Model(m.URL(), "sk")
	off.Config["auxiliary"] = map[string]any{"title_generation": map[string]any{"enabled": false}}
	a := openRig(t, m, root, "alice", profilehome.Model(m.URL(), "sk"))
	b := openRig(t, m, root, "bob", off)
	_, err := a.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "api", UserText: "hello"}, nil)
	must(t, err)
	b.mustSay("s", "hello")
	for _, r := range []*rig{a, b} {
		if s := r.session("s"); s.Title != "hello" || s.TitleSource != store.TitleDerived {
			t.Errorf("titled %q of %q", s.Title, s.TitleSource)
		}
		r.untitled()
	}
	if n := len(m.TitleRequests()); n != 0 {
		t.Errorf("%d requests for a title", n)
	}
}
