package store

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestEnsureSessionIsByID(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	want := Session{
		ID: "s1", Source: "slack", CreatedSource: "slack", SessionKey: "k", UserID: "u", ChatID: "c", ChatType: "dm",
		ThreadID: "t", DisplayName: "d", Origin: `{"a":1}`, ModelConfig: `{"b":2}`, Model: "m", SystemPrompt: "be kind",
		CWD: "/w", GitBranch: "main", GitRepoRoot: "/w", Title: "T", TitleSource: TitleDerived, ProfileName: "p",
		TransportProfile: "tp", ToolNames: `["x"]`, StartedAt: testStart.Add(1234567 * time.Microsecond),
	}
	got, created, err := s.EnsureSession(ctx, want)
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	want.LastActivityAt = want.StartedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored session (-want +got):\n%s", diff)
	}
	again, created, err := s.EnsureSession(ctx, Session{ID: "s1", Source: "cli", Model: "other", SystemPrompt: "be rude"})
	if err != nil || created {
		t.Fatalf("created %v, %v", created, err)
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("existing session changed (-want +got):\n%s", diff)
	}
	read, ok, err := s.Session(ctx, "s1")
	if err != nil || !ok || !cmp.Equal(read, want) {
		t.Errorf("read %v, %v: %s", ok, err, cmp.Diff(want, read))
	}
	if _, ok, err := s.Session(ctx, "none"); ok || err != nil {
		t.Errorf("unknown session: %v, %v", ok, err)
	}
}

func TestSessionByKeyIsNewestNotEnded(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	for i, id := range []string{"old", "mid", "new"} {
		started := testStart.Add(time.Duration(i) * time.Minute)
		if _, _, err := s.EnsureSession(ctx, Session{ID: id, Source: "cli", SessionKey: "k", StartedAt: started}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.EndSession(ctx, "new", "idle"); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.SessionByKey(ctx, "k"); err != nil || !ok || got.ID != "mid" {
		t.Errorf("got %q %v %v, want mid", got.ID, ok, err)
	}
	if err := s.ReopenSession(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.SessionByKey(ctx, "k"); err != nil || got.ID != "new" || !got.EndedAt.IsZero() {
		t.Errorf("after reopening got %q %v, want new", got.ID, err)
	}
	if _, ok, err := s.SessionByKey(ctx, ""); ok || err != nil {
		t.Errorf("an empty key found a session: %v %v", ok, err)
	}
}

func TestEndSessionKeepsTheFirstReason(t *testing.T) {
	ctx := context.Background()
	clock := clocktesting.NewFakePassiveClock(testStart)
	options := testOptions(t)
	options.Clock = clock
	s := open(t, storePath(t), options)
	ensure(t, s, "s")
	for _, reason := range []string{"idle", "daily"} {
		if err := s.EndSession(ctx, "s", reason); err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(time.Hour))
	}
	got, _, err := s.Session(ctx, "s")
	if err != nil || got.EndReason != "idle" || !got.EndedAt.Equal(testStart) {
		t.Errorf("ended %s for %q (%v), want the first", got.EndedAt, got.EndReason, err)
	}
}

func TestSessionsPagesByActivity(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	for i, id := range []string{"a", "b", "c", "d"} { // c and d are equally recent
		started := testStart.Add(time.Duration(min(i, 2)) * time.Minute)
		if _, _, err := s.EnsureSession(ctx, Session{ID: id, Source: "cli", StartedAt: started}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(ctx, "a", Message{Role: "user", Content: strings.Repeat("é", 300), Timestamp: testStart.Add(time.Hour)}, Message{Role: "user", Content: "later"}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	page := ListOptions{Limit: 1}
	for {
		sessions, err := s.Sessions(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		if len(sessions) == 0 {
			break
		}
		seen = append(seen, sessions[0].ID)
		if want := map[string]string{"a": strings.Repeat("é", 200)}[sessions[0].ID]; sessions[0].Preview != want {
			t.Errorf("preview of %s: %q", sessions[0].ID, sessions[0].Preview)
		}
		page.Before, page.BeforeID = sessions[0].LastActivityAt, sessions[0].ID
	}
	if got := strings.Join(seen, ""); got != "adcb" {
		t.Errorf("order %q, want adcb", got)
	}
	if got, err := s.Sessions(ctx, ListOptions{Source: "slack"}); err != nil || len(got) != 0 {
		t.Errorf("source filter: %d sessions, %v", len(got), err)
	}
}

func TestTitlesAreUnique(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s1")
	ensure(t, s, "s2")
	if err := s.SetTitle(ctx, "s1", "Trip", TitleLLM); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTitle(ctx, "s2", "Trip", TitleLLM); !errors.Is(err, ErrTitleTaken) {
		t.Errorf("same title: %v, want ErrTitleTaken", err)
	}
	if err := s.SetTitle(ctx, "s1", "", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTitle(ctx, "s2", "Trip", TitleUser); err != nil {
		t.Errorf("freed title: %v", err)
	}
	if err := s.SetTitle(ctx, "s2", "x", "guess"); err == nil || !strings.Contains(err.Error(), TitleBranchFallback) {
		t.Errorf("unknown source: %v", err)
	}
}

func TestUnknownSessionIsNamed(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	_, appendErr := s.Append(ctx, "database is locked", Message{Role: "user"})
	_, _, parentErr := s.EnsureSession(ctx, Session{ID: "x", Source: "cli", ParentID: "gone"})
	for name, err := range map[string]error{
		"append": appendErr, "parent": parentErr, "title": s.SetTitle(ctx, "gone", "t", TitleUser),
		"end": s.EndSession(ctx, "gone", "idle"), "usage": s.AddUsage(ctx, "gone", Usage{InputTokens: 1}),
		"prompt": s.SetSystemPrompt(ctx, "gone", "p"), "touch": s.Touch(ctx, "gone", "", ""),
	} {
		if !errors.Is(err, ErrNoSession) || Classify(err) != BucketUnknown {
			t.Errorf("%s: %v (%s), want ErrNoSession", name, err, Classify(err))
		}
	}
}

func TestSystemPromptsAreShared(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	for _, id := range []string{"s1", "s2"} {
		ensure(t, s, id)
		if err := s.SetSystemPrompt(ctx, id, "you are helpful"); err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM system_prompts").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d prompt rows (%v), want 1", rows, err)
	}
	if got, _, err := s.Session(ctx, "s2"); err != nil || got.SystemPrompt != "you are helpful" {
		t.Errorf("prompt %q, %v", got.SystemPrompt, err)
	}
}

func TestAppendKeepsRowsAndCounters(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	tokens, order := int64(7), int64(3)
	full := Message{
		Role: "assistant", Content: "héllo\x00 wörld", APIContent: "raw", ToolCalls: json.RawMessage(`[{"id":"1"},{"id":"2"}]`),
		ToolCallID: "tc", ToolName: "tn", EffectDisposition: "ed", Timestamp: testStart.Add(time.Hour + 250*time.Microsecond),
		TokenCount: &tokens, FinishReason: "stop", Reasoning: "r", ReasoningContent: "rc",
		ReasoningDetails: json.RawMessage(`{}`), CodexReasoningItems: json.RawMessage(`[1]`),
		CodexMessageItems: json.RawMessage(`[2]`), PlatformMessageID: "pm", Observed: true, CompressedSummary: true,
		DisplayKind: "dk", DisplayMetadata: json.RawMessage(`{"k":1}`), DisplayIdentity: []byte{0, 1}, DisplayOrder: &order,
	}
	stored, err := s.Append(ctx, "s", Message{Role: "user", Content: "q"}, full)
	if err != nil {
		t.Fatal(err)
	}
	read, err := s.Messages(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, read); diff != "" {
		t.Errorf("read back (-stored +read):\n%s", diff)
	}
	full.ID, full.SessionID = read[1].ID, "s"
	if diff := cmp.Diff(full, read[1]); diff != "" || read[0].ID >= read[1].ID {
		t.Errorf("second row (-want +got):\n%s", diff)
	}
	session, _, err := s.Session(ctx, "s")
	if err != nil || session.MessageCount != 2 || session.ToolCallCount != 2 || !session.LastActivityAt.Equal(full.Timestamp) {
		t.Errorf("counters %d/%d, activity %s, %v", session.MessageCount, session.ToolCallCount, session.LastActivityAt, err)
	}
}

func TestAppendIsAllOrNothing(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	for name, bad := range map[string]Message{
		"no role": {}, "bad calls": {Role: "assistant", ToolCalls: json.RawMessage(`{}`)},
		"bad metadata": {Role: "assistant", DisplayMetadata: json.RawMessage(`{`)},
	} {
		if _, err := s.Append(ctx, "s", Message{Role: "user", Content: "ok"}, bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Append(canceled, "s", Message{Role: "user"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled append: %v", err)
	}
	if messages, err := s.Messages(ctx, "s"); err != nil || len(messages) != 0 {
		t.Errorf("%d rows, %v; want none", len(messages), err)
	}
}

func TestUsageAddsUp(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	cost := 0.25
	u := Usage{
		Model: "m", BillingProvider: "bp", BillingBaseURL: "bu", BillingMode: "bm", InputTokens: 1, OutputTokens: 2,
		CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, APICalls: 1, EstimatedCostUSD: &cost,
	}
	title := Usage{Model: "m", Task: "title", InputTokens: 10, APICalls: 1}
	for _, add := range []Usage{u, u, title} {
		if err := s.AddUsage(ctx, "s", add); err != nil {
			t.Fatal(err)
		}
	}
	double := 0.5
	want := u
	want.InputTokens, want.OutputTokens, want.CacheReadTokens, want.CacheWriteTokens = 2, 4, 6, 8
	want.ReasoningTokens, want.APICalls, want.EstimatedCostUSD = 10, 2, &double
	got, err := s.ModelUsage(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	seen := ModelUsage{FirstSeen: testStart, LastSeen: testStart}
	perTitle, perTurn := seen, seen
	perTitle.Usage, perTurn.Usage = title, want
	if diff := cmp.Diff([]ModelUsage{perTitle, perTurn}, got); diff != "" {
		t.Errorf("per model (-want +got):\n%s", diff)
	}
	want.Model, want.InputTokens, want.APICalls = "", 12, 3
	session, _, err := s.Session(ctx, "s")
	if diff := cmp.Diff(want, session.Usage); diff != "" || err != nil {
		t.Errorf("session total (-want +got):\n%s%v", diff, err)
	}
}

func TestStats(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	stats, err := s.Stats(ctx)
	if err != nil || stats.Sessions != 0 || !stats.LastActivity.IsZero() || stats.SchemaVersion != SchemaVersion {
		t.Errorf("empty store: %+v, %v", stats, err)
	}
	ensure(t, s, "s")
	say(t, s, "s", strings.Repeat("x", 1<<20))
	grown, err := s.Stats(ctx)
	if err != nil || grown.SizeBytes < stats.SizeBytes+1<<20 || grown.Sessions != 1 || !grown.LastActivity.Equal(testStart) {
		t.Errorf("grown store: %+v, %v", grown, err)
	}
	if grown.JournalMode != "wal" || grown.WALBytes == 0 || grown.Damage != nil {
		t.Errorf("grown store: %+v", grown)
	}
}

// TestMessagesAreTheActiveOnes: S-102. Rows that compaction superseded stay in the file and out of the context.
func TestMessagesAreTheActiveOnes(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	old := say(t, s, "s", "same text", "same text")
	if _, err := s.writer.Exec("UPDATE messages SET active = 0, compacted = 1 WHERE id = ?", old[0].ID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Messages(context.Background(), "s")
	if err != nil || len(got) != 1 || got[0].ID != old[1].ID {
		t.Errorf("got %v, %v; want only row %d", got, err, old[1].ID)
	}
}
