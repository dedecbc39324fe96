package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// indexAll runs the background work to its end here and now.
func indexAll(t testing.TB, s *Store) {
	t.Helper()
	for left := true; left; {
		var err error
		if _, left, err = s.indexStep(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// still opens a store whose background indexing does not run; indexAll does it.
func still(t testing.TB, path string) *Store {
	t.Helper()
	s := open(t, path, testOptions(t))
	s.stopIndexing()
	return s
}

func found(t testing.TB, s *Store, o SearchOptions) []string {
	t.Helper()
	result, err := s.Search(context.Background(), o)
	if err != nil {
		t.Fatalf("search %q: %v", o.Query, err)
	}
	var snippets []string
	for _, h := range result.Hits {
		snippets = append(snippets, h.Snippet)
	}
	return snippets
}

// Section 2.1, full text: what is found is the same before and after a row is indexed.
func TestSearchFinds(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "s")
	long := strings.Repeat("x ", 4094) + "edge " + "beyond"
	for _, m := range []Message{
		{Role: "user", Content: "The gateway will not restart on Friday"},
		{Role: "assistant", Content: "Über die Straße: café crème"},
		{Role: "user", Content: "我想重启网关服务"},
		{Role: "user", Content: "party 🎉🎊🎈 tonight"},
		{Role: "tool", ToolName: "read_file", Content: long},
		{Role: "user", Content: `quote " AND NOT (x*) NEAR/2 ^col:`},
	} {
		if _, err := s.Append(ctx, "s", m); err != nil {
			t.Fatal(err)
		}
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			indexAll(t, s)
		}
		for name, tc := range map[string]struct {
			query string
			want  string // "" finds nothing
		}{
			"a word":                          {"friday", "The gateway will not restart on >>>Friday<<<"},
			"two words in any order":          {"restart gateway", "The >>>gateway<<< will not >>>restart<<< on Friday"},
			"a phrase":                        {`"not restart"`, "not restart"},
			"a phrase in the wrong order":     {`"restart not"`, ""},
			"part of a word":                  {"atewa", "g>>>atewa<<<y"},
			"one term missing":                {"gateway saturday", ""},
			"two characters":                  {"网关", "我想重启>>>网关<<<服务"},
			"three characters":                {"网关服", "我想重启>>>网关服<<<务"},
			"other case outside ASCII":        {"über", ">>>Über<<<"},
			"emoji":                           {"🎉🎊🎈", "party >>>🎉🎊🎈<<< tonight"},
			"one emoji":                       {"🎊", "party 🎉>>>🎊<<<🎈 tonight"},
			"syntax is text":                  {`"AND NOT (x*)"`, ">>>AND NOT (x*)<<<"},
			"operators are words":             {"NEAR/2", ">>>NEAR/2<<<"},
			"the end of what tools may say":   {"edge", ">>>edge<<<"},
			"T: only 8192 characters of tool": {"beyond", ""},
			"a tool's name":                   {"read_file", ""},
		} {
			t.Run(fmt.Sprintf("%s indexed=%t", name, indexed), func(t *testing.T) {
				got := found(t, s, SearchOptions{Query: tc.query})
				switch {
				case name == "a tool's name":
					if len(got) != 1 {
						t.Errorf("found %q", got)
					}
				case tc.want == "" && len(got) > 0:
					t.Errorf("found %q, want nothing", got)
				case tc.want != "" && (len(got) != 1 || !strings.Contains(unmark(got[0]), unmark(tc.want))):
					t.Errorf("found %q, want %q", got, tc.want)
				case tc.want != "" && strings.Contains(tc.want, MatchStart) && !strings.Contains(got[0], tc.want) && len(strings.Fields(tc.query)) == 1:
					t.Errorf("marked %q, want %q", got, tc.want)
				}
			})
		}
	}
	if _, err := s.Search(ctx, SearchOptions{Query: ` "" `}); !errors.Is(err, ErrEmptyQuery) {
		t.Errorf("empty query: %v", err)
	}
}

func unmark(text string) string {
	return strings.NewReplacer(MatchStart, "", MatchEnd, "").Replace(text)
}

func TestSearchDiacriticsOnceIndexed(t *testing.T) {
	s := still(t, storePath(t))
	ensure(t, s, "s")
	say(t, s, "s", "café crème")
	indexAll(t, s)
	if got := found(t, s, SearchOptions{Query: "creme"}); len(got) != 1 || got[0] != "café >>>crème<<<" {
		t.Errorf("found %q", got)
	}
}

func TestSearchFilters(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	for id, source := range map[string]string{"a": "cli", "b": "slack"} {
		if _, _, err := s.EnsureSession(ctx, Session{ID: id, Source: source}); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range []Message{{Role: "user"}, {Role: "assistant"}} {
		for _, id := range []string{"a", "b"} {
			m.Content, m.Timestamp = fmt.Sprintf("apple %s %s", id, m.Role), testStart.Add(time.Duration(i)*time.Hour)
			if _, err := s.Append(ctx, id, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.SetTitle(ctx, "a", "Fruit", TitleUser); err != nil {
		t.Fatal(err)
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			indexAll(t, s)
		}
		for name, tc := range map[string]struct {
			o    SearchOptions
			want int
		}{
			"everything": {SearchOptions{}, 4},
			"session":    {SearchOptions{SessionID: "a"}, 2},
			"role":       {SearchOptions{Role: "user"}, 2},
			"source":     {SearchOptions{Source: "slack"}, 2},
			"since":      {SearchOptions{Since: testStart.Add(time.Minute)}, 2},
			"until":      {SearchOptions{Until: testStart.Add(time.Minute), SessionID: "a"}, 1},
			"limit":      {SearchOptions{Limit: 3}, 3},
			"substring":  {SearchOptions{Substring: true}, 4},
		} {
			t.Run(fmt.Sprintf("%s indexed=%t", name, indexed), func(t *testing.T) {
				tc.o.Query = "apple"
				if got := found(t, s, tc.o); len(got) != tc.want {
					t.Errorf("found %q, want %d", got, tc.want)
				}
			})
		}
	}
	result, err := s.Search(ctx, SearchOptions{Query: "apple", SessionID: "a", Role: "user"})
	if err != nil || len(result.Hits) != 1 {
		t.Fatalf("%+v %v", result, err)
	}
	want := Hit{MessageID: result.Hits[0].MessageID, SessionID: "a", Title: "Fruit", Source: "cli", Role: "user", At: testStart, Snippet: ">>>apple<<< a user"}
	if result.Hits[0] != want {
		t.Errorf("got %+v\nwant %+v", result.Hits[0], want)
	}
}

// Compacted rows are history and are found; rows that were taken back are not (S-102).
func TestSearchS102(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "s")
	rows := say(t, s, "s", "apple one", "apple two", "apple four", "apple three", "apple four") // the last was kept and put in again
	for i, statement := range []string{
		"UPDATE messages SET active = 0, compacted = 1 WHERE id = ?", "UPDATE messages SET active = 0 WHERE id = ?",
		"UPDATE messages SET active = 0, compacted = 1 WHERE id = ?",
	} {
		if _, err := s.writer.ExecContext(ctx, statement, rows[i].ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			indexAll(t, s)
		}
		got := found(t, s, SearchOptions{Query: "apple", Substring: true})
		if want := []string{">>>apple<<< four", ">>>apple<<< three", ">>>apple<<< one"}; !slices.Equal(got, want) {
			t.Errorf("indexed %t: found %q, want %q", indexed, got, want)
		}
	}
}

// The trigrams leave out scheduled runs, delegated children and the JSON of tool calls; words have them all.
func TestTrigramsLeaveOut(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "parent")
	for _, session := range []Session{
		{ID: "cron", Source: "cron"},
		{ID: "child", Source: "cli", ParentID: "parent", ModelConfig: `{"_delegate_from":"parent"}`},
		{ID: "branch", Source: "cli", ParentID: "parent", ModelConfig: `{"_branched_from":"parent"}`},
		{ID: "foreign marker", Source: "cli", ParentID: "parent", ModelConfig: `{"_delegate_from":"somebody else"}`},
		{ID: "no JSON", Source: "cli", ModelConfig: `{"_delegate_from`},
	} {
		if _, _, err := s.EnsureSession(ctx, session); err != nil {
			t.Fatal(err)
		}
		call := Message{Role: "assistant", Content: "wonderland", ToolCalls: []byte(`[{"function":{"arguments":"looking-glass"}}]`)}
		if _, err := s.Append(ctx, session.ID, call); err != nil {
			t.Fatal(err)
		}
	}
	indexAll(t, s)
	for query, want := range map[string]int{"wonderland": 5, "onderlan": 3, "glass": 5, "lookin": 0} {
		if got := found(t, s, SearchOptions{Query: query}); len(got) != want {
			t.Errorf("%s: found %d, want %d", query, len(got), want)
		}
	}
}

// alphabet has letters of one, two, three and four bytes, signs that mean something to LIKE and full text, and none
// whose small letter LIKE does not know.
var alphabet = []rune(`abcABC 12%_"'\*(){}:^-.` + "äßжщ网关服务일본あ🎉👩‍💻")

func randomText(random *rand.Rand, n int) string {
	var b strings.Builder
	for range random.IntN(n) {
		b.WriteRune(alphabet[random.IntN(len(alphabet))])
	}
	return b.String()
}

// A search for a part of a text of three characters or more finds exactly what LIKE finds.
func TestSearchEqualsLike(t *testing.T) {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(7, 11))
	s := still(t, storePath(t))
	ensure(t, s, "s")
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = randomText(random, 60)
	}
	say(t, s, "s", texts...)
	indexAll(t, s)
	say(t, s, "s", texts[:20]...) // these wait to be indexed
	for i := range 400 {
		part := []rune(texts[random.IntN(len(texts))])
		if len(part) < 3 {
			continue
		}
		at := random.IntN(len(part) - 2)
		term := strings.TrimSpace(strings.ReplaceAll(string(part[at:at+3+random.IntN(min(4, len(part)-at-2))]), `"`, ""))
		if term == "" {
			continue
		}
		pattern := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(term) + "%"
		var want int
		if err := s.readers.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages WHERE content LIKE ? ESCAPE '\'`, pattern).Scan(&want); err != nil {
			t.Fatal(err)
		}
		result, err := s.Search(ctx, SearchOptions{Query: `"` + term + `"`, Substring: true, Limit: MaxSearchLimit})
		if err != nil || result.Bounded || len(result.Hits) != want {
			t.Fatalf("case %d, %q: found %d, LIKE finds %d, %v", i, term, len(result.Hits), want, err)
		}
	}
}

// Any text is a search: nothing a person types reaches SQLite as syntax.
func FuzzSearch(f *testing.F) {
	s := still(f, storePath(f))
	ensure(f, s, "s")
	say(f, s, "s", "The gateway's 网关 NEAR( \"x\" AND NOT y*", "second")
	indexAll(f, s)
	say(f, s, "s", "not indexed yet")
	for _, seed := range []string{
		"", `"`, `""`, `a"b`, "*", "AND", "NOT x", "NEAR(a b)", "col:x", "^x", "{a}: b", "(", "a\x00b", "\xff\xfe", "-x", "a'; DROP TABLE messages",
		strings.Repeat("ab ", 1000), strings.Repeat("字", 3000), "%", "_", `\`, "content:", "+", "a AND", "\u0301\u0301\u0301", strings.Repeat("! ", 900),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, substring := range []bool{false, true} {
			_, err := s.Search(context.Background(), SearchOptions{Query: text, Substring: substring})
			if err != nil && !errors.Is(err, ErrEmptyQuery) {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

func TestQueryIsCapped(t *testing.T) {
	q, err := parseQuery(strings.Repeat("字", maxQueryChars) + "x")
	if err != nil || q.terms[0] != strings.Repeat("字", maxQueryChars) {
		t.Errorf("%d terms, first of %d bytes, %v", len(q.terms), len(q.terms[0]), err)
	}
}
