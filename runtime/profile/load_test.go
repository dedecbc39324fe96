package profile

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// talk runs turns of one session, every third with a tool, and returns the first error.
func (r *rig) talk(session string, turns int) error {
	for i := range turns {
		text := fmt.Sprintf("%s/%d", session, i)
		// No deadline: what takes too long under load is for the store's and the client's own budgets to say.
		res, err := r.runtime.Turn(context.Background(), agent.Turn{SessionID: session, Source: "api", UserText: text}, nil)
		if err != nil {
			return fmt.Errorf("turn %d of %s: %w", i, session, err)
		}
		if res.Reply != "you said: "+text {
			return fmt.Errorf("turn %d of %s was answered %q", i, session, res.Reply)
		}
	}
	return nil
}

// checkTalk looks for every row that talk was told of.
func (r *rig) checkTalk(session string, turns int) {
	r.t.Helper()
	s, rows, ok, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	if !ok || int64(len(rows)) != s.MessageCount || s.Usage.APICalls != int64(turns+(turns+2)/3) {
		r.t.Errorf("%s: %d rows, %d counted, %d calls", session, len(rows), s.MessageCount, s.Usage.APICalls)
	}
	n := 0
	for i := range turns {
		text := fmt.Sprintf("%s/%d", session, i)
		want := []string{"user:" + text, "assistant:you said: " + text}
		if i%3 == 0 {
			want = []string{want[0], "assistant:", "tool:[the directory is empty]", want[1]}
		}
		for _, w := range want {
			if n >= len(rows) || rows[n].Role+":"+rows[n].Content != w {
				r.t.Fatalf("%s: row %d is not %q", session, n, w)
			}
			n++
		}
	}
	if n != len(rows) {
		r.t.Errorf("%s: %d rows, want %d", session, len(rows), n)
	}
}

// talkative calls a tool in every third turn of a session, and repeats what was said.
func talkative(q fakemodel.Request) fakemodel.Turn {
	ms := q.Parsed.Decoded()
	said := ""
	for _, m := range ms {
		if m.Role == "user" {
			said = m.Content
		}
	}
	var n int
	_, _ = fmt.Sscanf(said[len(said)-len(lastNumber(said)):], "%d", &n)
	if n%3 == 0 && ms[len(ms)-1].Role == "user" {
		return fakemodel.Calls(call("c", "list_dir", `{}`))
	}
	return fakemodel.Text("you said: " + said)
}

func lastNumber(s string) string {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	return s[i:]
}

// TestManySessionsAtOnce: 8 sessions of one profile and 200 turns each lose no row and never meet a locked database.
func TestManySessionsAtOnce(t *testing.T) {
	sessions, turns := 8, loadSize(200, 20)
	r := newRig(t)
	r.model.Respond(talkative)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			if err := r.talk("s"+strconv.Itoa(i), turns); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d sessions, %d turns each in %s", sessions, turns, time.Since(begun).Round(time.Millisecond))
	for i := range sessions {
		r.checkTalk("s"+strconv.Itoa(i), turns)
	}
}

// TestManyProfilesAtOnce: 50 profiles that answer in two sessions each at the same time.
func TestManyProfilesAtOnce(t *testing.T) {
	profiles, turns := 50, loadSize(12, 3)
	m, root := startModel(t), t.TempDir()
	m.Respond(talkative)
	begun := time.Now()
	var wg sync.WaitGroup
	rigs := make([]*rig, profiles)
	for i := range rigs {
		rigs[i] = openRig(t, m, root, fmt.Sprintf("p%02d", i), profilehome.Model(m.URL(), "sk"))
		for _, session := range []string{"a", "b"} {
			wg.Go(func() {
				if err := rigs[i].talk(session, turns); err != nil {
					t.Errorf("profile %d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
	t.Logf("%d profiles, %d turns each in %s", profiles, 2*turns, time.Since(begun).Round(time.Millisecond))
	for _, r := range rigs {
		r.checkTalk("a", turns)
		r.checkTalk("b", turns)
	}
}
