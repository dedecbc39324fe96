package localapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
)

// seed gives alice a session whose first message was said at a time.
func (r *rig) seed(id string, at time.Time, texts ...string) {
	r.t.Helper()
	rows := make([]store.Message, len(texts))
	for i, text := range texts {
		rows[i] = store.Message{Role: []string{"user", "assistant"}[i%2], Content: text, Timestamp: at.Add(time.Duration(i) * time.Second)}
	}
	must(r.t, r.open["alice"].Seed(ctx(r.t), store.Session{ID: id, Source: "cli", StartedAt: at}, rows))
}

// seedEnded writes a session that ended into alice's store, which must not be open yet.
func (r *rig) seedEnded(id string, at time.Time) {
	r.t.Helper()
	s, err := store.Open(ctx(r.t), r.open["alice"].Paths().Store(), store.Options{Clock: clocktesting.NewFakePassiveClock(at)})
	must(r.t, err)
	_, _, err = s.EnsureSession(ctx(r.t), store.Session{ID: id, Source: "cli"})
	must(r.t, err)
	_, err = s.Append(ctx(r.t), id, store.Message{Role: "user", Content: "hello"})
	must(r.t, err)
	must(r.t, s.EndSession(ctx(r.t), id, "user_exit"))
	must(r.t, s.Close())
}

var monday = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func ids(list []localapi.SessionInfo) (out []string) {
	for _, s := range list {
		out = append(out, s.ID)
	}
	return out
}

func TestSessionsArePaged(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.seed(fmt.Sprintf("s%d", i), monday.Add(time.Duration(i)*time.Hour), "hello")
	}
	var seen []string
	for page := ""; ; {
		list, err := r.client.ListSessions(ctx(t), "alice", localapi.SessionFilter{Limit: 2, Page: page})
		must(t, err)
		seen = append(seen, ids(list.Data)...)
		if page = list.Next; page == "" {
			break
		}
	}
	if want := []string{"s4", "s3", "s2", "s1", "s0"}; !slices.Equal(seen, want) {
		t.Errorf("pages gave %q, want %q", seen, want)
	}
	since, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{Since: monday.Add(3 * time.Hour)})
	must(t, err)
	if got := ids(since); !slices.Equal(got, []string{"s4", "s3"}) {
		t.Errorf("since gave %q", got)
	}
	_, err = r.client.ListSessions(ctx(t), "alice", localapi.SessionFilter{Page: "nonsense"})
	if e := apiError(t, err); e.Status != http.StatusBadRequest || !strings.Contains(e.Message, "page must be") {
		t.Errorf("bad page: %+v", e)
	}
}

func TestSessionIsFoundByWhatPeopleType(t *testing.T) {
	r := newRig(t)
	r.seed("20261123_a", monday, "hello")
	r.seed("20261124_b", monday, "hello")
	title, err := r.client.Rename(ctx(t), "alice", "20261123_a", " Tax  return ")
	must(t, err)
	if title != "Tax return" {
		t.Errorf("title %q", title)
	}
	for _, ref := range []string{"20261123_a", "Tax return", "20261123", "tax RETURN"} {
		head, err := r.client.SessionHead(ctx(t), "alice", ref)
		must(t, err)
		if head.ID != "20261123_a" {
			t.Errorf("%q is %s", ref, head.ID)
		}
	}
	for name, c := range map[string]struct {
		err    func() error
		status int
		code   string
	}{
		"ambiguous": {func() error { _, err := r.client.Session(ctx(t), "alice", "2026112"); return err }, 409, localapi.CodeSessionAmbiguous},
		"none":      {func() error { _, err := r.client.Session(ctx(t), "alice", "none"); return err }, 404, "session_not_found"},
		"title taken": {func() error {
			_, err := r.client.Rename(ctx(t), "alice", "20261124_b", "Tax return")
			return err
		}, 409, localapi.CodeTitleTaken},
		"bad title": {func() error {
			_, err := r.client.Rename(ctx(t), "alice", "20261124_b", "a\ab")
			return err
		}, 400, localapi.CodeTitleInvalid},
		"rename none":   {func() error { _, err := r.client.Rename(ctx(t), "alice", "none", "x"); return err }, 404, "session_not_found"},
		"delete none":   {func() error { _, err := r.client.Delete(ctx(t), "alice", "none", false); return err }, 404, "session_not_found"},
		"export none":   {func() error { return r.client.Export(ctx(t), "alice", "none", "jsonl", &bytes.Buffer{}) }, 404, "session_not_found"},
		"export format": {func() error { return r.client.Export(ctx(t), "alice", "20261124_b", "xml", &bytes.Buffer{}) }, 400, "invalid_request"},
		"empty search":  {func() error { _, err := r.client.Search(ctx(t), "alice", localapi.SearchFilter{}); return err }, 400, "invalid_request"},
		"other maintenance": {func() error {
			_, err := r.client.Maintain(ctx(t), "alice", "polish", localapi.MaintenanceRequest{})
			return err
		}, 404, "unknown_path"},
		"prune into the future": {func() error {
			_, err := r.client.Maintain(ctx(t), "alice", "prune", localapi.MaintenanceRequest{OlderThanSeconds: -1})
			return err
		}, 400, "invalid_request"},
		"other profile": {func() error { _, err := r.client.Search(ctx(t), "bob", localapi.SearchFilter{Query: "x"}); return err }, 404, "model_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			if e := apiError(t, c.err()); e.Status != c.status || e.Code != c.code {
				t.Errorf("%d %s: %s, want %d %s", e.Status, e.Code, e.Message, c.status, c.code)
			}
		})
	}
}

func TestSearchOverTheAPI(t *testing.T) {
	r := newRig(t)
	r.seed("a", monday, "where is the >passport<?", "In the blue drawer.")
	r.seed("b", monday.Add(time.Hour), "a drawer for socks")
	found, err := r.client.Search(ctx(t), "alice", localapi.SearchFilter{Query: "drawer blue"})
	must(t, err)
	want := localapi.SearchHit{Session: "a", Source: "cli", Role: "assistant", At: monday.Add(time.Second), Snippet: "In the >>>blue<<< >>>drawer<<<."}
	if len(found.Data) != 1 {
		t.Fatalf("found %+v", found)
	}
	want.Message = found.Data[0].Message
	if found.Data[0] != want || found.Bounded || found.Unindexed != 0 {
		t.Errorf("got %+v\nwant %+v", found, want)
	}
	for name, c := range map[string]struct {
		f    localapi.SearchFilter
		want int
	}{
		"everything": {localapi.SearchFilter{}, 2}, "session": {localapi.SearchFilter{Session: "b"}, 1},
		"role": {localapi.SearchFilter{Role: "user"}, 1}, "since": {localapi.SearchFilter{Since: monday.Add(time.Minute)}, 1},
		"until": {localapi.SearchFilter{Until: monday.Add(time.Minute)}, 1}, "source": {localapi.SearchFilter{Source: "slack"}, 0},
		"limit": {localapi.SearchFilter{Limit: 1}, 1},
	} {
		c.f.Query = "drawer"
		found, err := r.client.Search(ctx(t), "alice", c.f)
		must(t, err)
		if len(found.Data) != c.want {
			t.Errorf("%s: found %+v, want %d", name, found.Data, c.want)
		}
	}
}

func TestExportOverTheAPI(t *testing.T) {
	r := newRig(t)
	r.seed("a", monday, "hello", "hi")
	for format, want := range map[string]string{"jsonl": `"role":"assistant","content":"hi"`, "markdown": "## Assistant · 2026-11-23 09:00:01 UTC\n\nhi\n"} {
		var out bytes.Buffer
		must(t, r.client.Export(ctx(t), "alice", "a", format, &out))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
	full := errors.New("disk full")
	if err := r.client.Export(ctx(t), "alice", "a", "jsonl", failing{full}); !errors.Is(err, full) {
		t.Errorf("a writer's error is the writer's: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A session that answers is not deleted under its turn, unless the turn is stopped first.
func TestDeleteWhileATurnRuns(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Turn{Fault: fakemodel.Fault{KeepaliveOnly: true}}) // it begins and does not end
	r.seed("busy", monday, "earlier", "answered")
	turn := make(chan error, 1)
	go func() {
		_, err := r.client.Complete(ctx(t), say("busy", "hello"))
		turn <- err
	}()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	_, err = r.client.Delete(ctx(t), "alice", "busy", false)
	if e := apiError(t, err); e.Status != http.StatusConflict || e.Code != localapi.CodeSessionBusy {
		t.Errorf("%d %s: %s", e.Status, e.Code, e.Message)
	}
	gone, err := r.client.Delete(ctx(t), "alice", "busy", true)
	must(t, err)
	if !slices.Equal(gone.Sessions, []string{"busy"}) || gone.Messages == 0 {
		t.Errorf("deleted %+v", gone)
	}
	if err := <-turn; err == nil {
		t.Error("the turn went on")
	}
	if list, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{}); err != nil || len(list) != 0 {
		t.Errorf("left %+v, %v", list, err)
	}
	r.seed("busy", monday, "earlier", "answered")
	_, err = r.client.Complete(ctx(t), say("busy", "hello again")) // nobody holds the session any more
	must(t, err)
}

// Maintenance runs in the gateway, which is no foreign holder of its own stores.
func TestS140MaintenanceInTheGateway(t *testing.T) {
	r := newRig(t)
	r.seedEnded("old", monday.AddDate(-1, 0, 0))
	r.seed("new", time.Now(), "hello")
	done, err := r.client.Maintain(ctx(t), "alice", "optimize-storage", localapi.MaintenanceRequest{})
	must(t, err)
	if !done.Vacuumed || done.Indexed != 2 || done.IndexVersion != "3" || len(done.Merged) != 2 {
		t.Errorf("optimize-storage: %+v", done)
	}
	done, err = r.client.Maintain(ctx(t), "alice", "optimize", localapi.MaintenanceRequest{DryRun: true})
	must(t, err)
	if !done.DryRun || done.Vacuumed || done.SizeBytes == 0 || len(done.Merged) != 0 {
		t.Errorf("dry run: %+v", done)
	}
	for _, dry := range []bool{true, false} {
		done, err = r.client.Maintain(ctx(t), "alice", "prune", localapi.MaintenanceRequest{DryRun: dry})
		must(t, err)
		if done.Deleted == nil || !slices.Equal(done.Deleted.Sessions, []string{"old"}) {
			t.Errorf("prune, dry %t: %+v", dry, done)
		}
	}
	if list, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{}); err != nil || !slices.Equal(ids(list), []string{"new"}) {
		t.Errorf("left %q, %v", ids(list), err)
	}
}

// Any foreign process that has the store open stops a maintenance, except a dry one; force says whom it passes.
func TestS141ForeignHolder(t *testing.T) {
	r := newRig(t)
	r.seed("a", monday, "hello")
	paths := r.open["alice"].Paths()
	file, err := os.Open(paths.Store() + "-wal") // the log: closing it here drops no lock of the database
	must(t, err)
	holder := exec.Command("sleep", "60")
	holder.Stdin = file
	must(t, holder.Start())
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	must(t, file.Close())
	for _, action := range []string{"optimize", "optimize-storage", "prune"} {
		_, err := r.client.Maintain(ctx(t), "alice", action, localapi.MaintenanceRequest{})
		e := apiError(t, err)
		if e.Status != http.StatusConflict || e.Code != localapi.CodeStoreHeld {
			t.Fatalf("%s: %d %s %s", action, e.Status, e.Code, e.Message)
		}
		for _, says := range []string{
			"hermes sessions " + action + " refused", fmt.Sprintf("PID %d (sleep 60): state.db-wal", holder.Process.Pid), "-p alice", "--force",
		} {
			if !strings.Contains(e.Message, says) {
				t.Errorf("%s: message lacks %q:\n%s", action, says, e.Message)
			}
		}
		done, err := r.client.Maintain(ctx(t), "alice", action, localapi.MaintenanceRequest{DryRun: true})
		must(t, err)
		if len(done.PassedOver) > 0 {
			t.Errorf("a dry %s looked for holders: %q", action, done.PassedOver)
		}
		done, err = r.client.Maintain(ctx(t), "alice", action, localapi.MaintenanceRequest{Force: true})
		must(t, err)
		if len(done.PassedOver) != 1 || !strings.Contains(done.PassedOver[0], "sleep 60") {
			t.Errorf("a forced %s passed over %q", action, done.PassedOver)
		}
	}
}

// The same client works without a gateway, over the handler itself.
func TestInProcessClient(t *testing.T) {
	r := newRig(t)
	r.seed("a", monday, "hello", "hi")
	client := localapi.NewInProcessClient(localapi.NewHandler(localapi.HandlerConfig{Backend: r}))
	list, err := client.Sessions(ctx(t), "alice", localapi.SessionFilter{})
	must(t, err)
	var out bytes.Buffer
	must(t, client.Export(ctx(t), "alice", "a", "markdown", &out))
	if len(list) != 1 || !strings.Contains(out.String(), "hi") {
		t.Errorf("%+v\n%s", list, out.String())
	}
	if _, err := client.Rename(ctx(t), "alice", "a", "T"); err != nil {
		t.Error(err)
	}
	_, err = client.Session(ctx(t), "alice", "none")
	if e := apiError(t, err); e.Code != "session_not_found" {
		t.Errorf("%+v", e)
	}
}
