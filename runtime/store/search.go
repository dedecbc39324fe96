package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// DefaultSearchLimit is how many hits a search returns when it does not say, MaxSearchLimit the most it returns.
const (
	DefaultSearchLimit = 20
	MaxSearchLimit     = 1000
)

// scanRows is how many of the newest messages are read when no index can answer. Beyond that a search says so.
const scanRows = 20_000

// SearchOptions say what to look for and where. Empty fields keep everything.
type SearchOptions struct {
	// Query is what a person typed: terms that must all occur, in any order; text in double quotes is one term. It
	// has no other syntax and is cut after 2048 characters.
	Query string
	// Limit is the most hits; 0 is DefaultSearchLimit.
	Limit int
	// SessionID, Role and Source keep one session, one role (user, assistant, tool) or one source.
	SessionID, Role, Source string
	// Since and Until bound the time of a message.
	Since, Until time.Time
	// Hidden includes hidden sessions.
	Hidden bool
	// Substring finds parts of words only, newest first; else whole words come first, best first.
	Substring bool
}

// Hit is one message that a search found.
type Hit struct {
	MessageID int64
	SessionID string
	// Title is the session's, "" when it has none.
	Title, Source, Role, ToolName string
	At                            time.Time
	// Snippet is the surroundings of a match; every match in it stands between MatchStart and MatchEnd.
	Snippet string
}

// SearchResult is what a search found.
type SearchResult struct {
	Hits []Hit
	// Unindexed counts messages that were not searched because the index is being built, the oldest ones.
	Unindexed int64
	// Bounded is true when only the newest messages were read: no index could answer, because a term has fewer than
	// three characters or because there is no index.
	Bounded bool
}

// Search finds messages. Whole words come first; when there are fewer than Limit, parts of words fill up. Messages
// that a compaction replaced are found, ones that were taken back are not. Of tool results only the first 8192
// characters are searched; scheduled runs and delegated sessions are searched by whole words only.
//
// Errors: ErrEmptyQuery. A damaged index is made anew and the search answered from the messages.
//
// Implements the full-text part of section 2.1.
func (s *Store) Search(ctx context.Context, o SearchOptions) (SearchResult, error) {
	q, err := parseQuery(o.Query)
	if err != nil {
		return SearchResult{}, err
	}
	if o.Limit <= 0 {
		o.Limit = DefaultSearchLimit
	}
	find := finder{query: q, options: o, limit: min(o.Limit, MaxSearchLimit)}
	err = s.read(ctx, func(*db.Queries) error {
		find.reset()
		return find.run(ctx, s.readers)
	})
	if indexDamage(err) {
		if repair := s.repairIndex(ctx, err); repair != nil {
			s.log.Error(repair, "make the full-text index anew")
		}
		err = s.read(ctx, func(*db.Queries) error {
			find.reset()
			return find.scanAll(ctx, s.readers)
		})
	}
	return find.result, err
}

// finder collects hits.
type finder struct {
	query   query
	options SearchOptions
	limit   int

	seen   map[int64]bool
	result SearchResult
}

func (f *finder) reset() { f.seen, f.result = map[int64]bool{}, SearchResult{} }

func (f *finder) full() bool { return len(f.result.Hits) >= f.limit }

// run looks first at the newest rows, which wait to be indexed, then for words, then for parts of words.
func (f *finder) run(ctx context.Context, q querier) error {
	state, err := readFTS(ctx, q)
	if err != nil {
		return err
	}
	if !state.current() {
		return f.scanAll(ctx, q)
	}
	if err := f.scan(ctx, q, state.span.through); err != nil {
		return err
	}
	if state.span.floor.Valid {
		err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM messages WHERE id < ?", state.span.floor.Int64).Scan(&f.result.Unindexed)
		if err != nil {
			return err
		}
	}
	if !f.options.Substring && !f.query.wordless() && !f.full() {
		if err := f.words(ctx, q); err != nil {
			return err
		}
	}
	if f.full() {
		return nil
	}
	trigrams := f.query.trigrams()
	if trigrams == "" {
		return f.scanAll(ctx, q)
	}
	return f.substrings(ctx, q, trigrams)
}

const hitColumns = `m.id, m.session_id, COALESCE(s.title, ''), s.source, m.role, COALESCE(m.tool_name, ''), m.timestamp`

// hitFilter keeps what may be shown and what the options ask for. A row that is neither active nor compacted was
// taken back; one that a compaction kept is in the file twice and the later one is shown.
const hitFilter = ` AND (m.active = 1 OR m.compacted = 1 AND NOT EXISTS (
		SELECT 1 FROM messages c WHERE c.session_id = m.session_id AND c.id > m.id AND c.timestamp = m.timestamp
		AND c.role = m.role AND c.content IS m.content AND (c.active = 1 OR c.compacted = 1))) AND (? = '' OR m.session_id = ?) AND (? = '' OR m.role = ?)
	AND (? = '' OR s.source = ?) AND m.timestamp >= ? AND m.timestamp <= ? AND COALESCE(s.hidden, 0) <= ?`

func (f *finder) filters(first ...any) []any {
	o := f.options
	since, until := -math.MaxFloat64, math.MaxFloat64
	if !o.Since.IsZero() {
		since = epoch(o.Since)
	}
	if !o.Until.IsZero() {
		until = epoch(o.Until)
	}
	return append(first, o.SessionID, o.SessionID, o.Role, o.Role, o.Source, o.Source, since, until, flag(o.Hidden))
}

// words asks the index of words.
func (f *finder) words(ctx context.Context, q querier) error {
	match := f.query.words()
	// The best are chosen before snippets are made: making one reads the whole text.
	rows, err := q.QueryContext(ctx, `SELECT `+hitColumns+` FROM messages_fts f
		CROSS JOIN messages m ON m.id = f.rowid CROSS JOIN sessions s ON s.id = m.session_id
		WHERE messages_fts MATCH ?`+hitFilter+` ORDER BY f.rank, m.id DESC LIMIT ?`,
		append(f.filters(match), f.limit)...)
	if err != nil {
		return err
	}
	var hits []Hit
	if err := eachHit(rows, nil, func(h Hit) bool { hits = append(hits, h); return true }); err != nil {
		return err
	}
	for _, h := range hits {
		if f.seen[h.MessageID] {
			continue
		}
		err := q.QueryRowContext(ctx, `SELECT snippet(messages_fts, -1, ?, ?, ?, 32) FROM messages_fts
			WHERE messages_fts MATCH ? AND rowid = ?`, MatchStart, MatchEnd, ellipsis, match, h.MessageID).Scan(&h.Snippet)
		if errors.Is(err, sql.ErrNoRows) {
			continue // it went meanwhile
		}
		if err != nil {
			return err
		}
		f.take(h)
	}
	return nil
}

// substrings asks the index of trigrams for rows that may match, newest first, and looks at each.
func (f *finder) substrings(ctx context.Context, q querier, trigrams string) error {
	var content, tool string
	rows, err := q.QueryContext(ctx, `SELECT `+hitColumns+`, COALESCE(v.content, ''), COALESCE(v.tool_name, '')
		FROM messages_fts_trigram f CROSS JOIN messages m ON m.id = f.rowid CROSS JOIN sessions s ON s.id = m.session_id
		CROSS JOIN messages_fts_source v ON v.id = m.id
		WHERE messages_fts_trigram MATCH ?`+hitFilter+` ORDER BY f.rowid DESC`, f.filters(trigrams)...)
	if err != nil {
		return err
	}
	return eachHit(rows, []any{&content, &tool}, func(h Hit) bool { return f.consider(h, content, tool) })
}

// scanAll reads the newest messages themselves.
func (f *finder) scanAll(ctx context.Context, q querier) error {
	var newest, oldest int64
	err := q.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0), COALESCE(MIN(id), 0) FROM messages").Scan(&newest, &oldest)
	if err != nil {
		return err
	}
	above := max(0, newest-scanRows)
	f.result.Bounded, f.result.Unindexed = oldest <= above, 0
	return f.scan(ctx, q, above)
}

// scan reads messages with ids above one, newest first, at most scanRows.
func (f *finder) scan(ctx context.Context, q querier, above int64) error {
	var content, tool string
	rows, err := q.QueryContext(ctx, `SELECT `+hitColumns+`,
		COALESCE(`+searchedText("m")+`, ''), COALESCE(m.tool_name, '')
		FROM messages m CROSS JOIN sessions s ON s.id = m.session_id
		WHERE m.id > ?`+hitFilter+` ORDER BY m.id DESC LIMIT ?`, append(f.filters(above), scanRows)...)
	if err != nil {
		return err
	}
	return eachHit(rows, []any{&content, &tool}, func(h Hit) bool { return f.consider(h, content, tool) })
}

// consider takes a hit that matches and says whether there is room for more.
func (f *finder) consider(h Hit, content, tool string) bool {
	if !f.seen[h.MessageID] && f.query.matches(content, tool) {
		h.Snippet = f.query.snippet(content, tool)
		f.take(h)
	}
	return !f.full()
}

func (f *finder) take(h Hit) {
	if !f.full() {
		f.seen[h.MessageID] = true
		f.result.Hits = append(f.result.Hits, h)
	}
}

// eachHit reads rows of hitColumns and more columns until take has enough.
func eachHit(rows *sql.Rows, more []any, take func(Hit) bool) error {
	defer rows.Close()
	for rows.Next() {
		var h Hit
		var at float64
		into := append([]any{&h.MessageID, &h.SessionID, &h.Title, &h.Source, &h.Role, &h.ToolName, &at}, more...)
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		h.At = fromEpoch(at)
		if !take(h) {
			return nil
		}
	}
	return rows.Err()
}
