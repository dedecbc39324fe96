package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ImportOptions of an import.
type ImportOptions struct {
	// Profile is the name of the profile that takes the sessions; "" keeps the name and the keys they have.
	Profile string
}

// ImportReport says what an import added and what it did not, row by row up to a bound.
type ImportReport struct {
	// SchemaVersion of the source, 0 when it records none.
	SchemaVersion int64 `json:"schemaVersion"`
	// Sessions, Messages and Usage are rows added.
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
	Usage    int64 `json:"usage"`
	// Present are sessions that were there already; they are left as they are. Grown are those of them that have more
	// messages in the source than here.
	Present int64 `json:"present"`
	Grown   int64 `json:"grown,omitempty"`
	// Skipped are rows that cannot be stored, Repaired values that were changed so that they can.
	Skipped  int64 `json:"skipped,omitempty"`
	Repaired int64 `json:"repaired,omitempty"`
	// Unknown names columns of known tables, and tables, that are not taken over.
	Unknown []string `json:"unknown,omitempty"`
	// Notes say what was skipped or repaired, the first of each kind.
	Notes []string `json:"notes,omitempty"`
}

// maxNotes bounds the notes of a report.
const maxNotes = 50

func (r *ImportReport) note(format string, args ...any) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	}
}

func (r *ImportReport) add(o ImportReport) {
	r.Sessions += o.Sessions
	r.Messages += o.Messages
	r.Usage += o.Usage
	r.Skipped += o.Skipped
	r.Repaired += o.Repaired
	for _, n := range o.Notes {
		r.note("%s", n)
	}
}

// importTables are what is taken over; the rest is state of processes that are gone, or made again from these.
var importTables = []string{"sessions", "messages", "session_model_usage", "system_prompts", "conversation_generations"}

// Import adds the sessions of another store of this schema, of any version up to SchemaVersion, to this one. path is a
// copy that nobody has open (CopyForeign). Each session comes with its messages, usage and system prompt in one
// transaction, parents before those that continue them; a session that is here already is left alone, so a second import
// adds nothing.
//
// Errors: ErrSchema for a newer or a foreign file, ErrCorrupt for a damaged one; nothing is added then.
func (s *Store) Import(ctx context.Context, path string, o ImportOptions) (ImportReport, error) {
	pool, err := openImport(path)
	if err != nil {
		return ImportReport{}, fmt.Errorf("import: %w", err)
	}
	report, err := s.importFrom(ctx, pool, path, o)
	return report, errors.Join(err, pool.Close())
}

// SurveyImport reads and judges every row as Import does, and reports what it would add to an empty store.
func SurveyImport(ctx context.Context, path string, o ImportOptions) (ImportReport, error) {
	return (*Store)(nil).Import(ctx, path, o)
}

// importFrom adds to s, or only counts when s is nil.
func (s *Store) importFrom(ctx context.Context, pool *sql.DB, path string, o ImportOptions) (ImportReport, error) {
	src := &importSource{pool: pool, profile: o.Profile}
	if err := src.open(ctx, path); err != nil {
		return ImportReport{}, err
	}
	report := src.report
	plan, err := src.plan(ctx, &report)
	if err != nil {
		return report, fmt.Errorf("import: %w", err)
	}
	for _, item := range plan {
		if err := s.importSession(ctx, src, item, &report); err != nil {
			return report, fmt.Errorf("import session %s: %w", item.id, err)
		}
	}
	if s != nil {
		err = s.importGenerations(ctx, src)
	}
	return report, err
}

// importItem is one session to take over.
type importItem struct {
	id string
	// parent is empty when there is none, or none that can be kept.
	parent string
}

// importSession adds one session with everything that belongs to it, or leaves one that is here.
func (s *Store) importSession(ctx context.Context, src *importSource, item importItem, report *ImportReport) error {
	if s == nil {
		added, err := src.count(ctx, item)
		report.add(added)
		return err
	}
	var there, have int64
	err := s.readers.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM sessions WHERE id = ?1), (SELECT COUNT(*) FROM messages WHERE session_id = ?1)`, item.id).Scan(&there, &have)
	if err != nil {
		return err
	}
	if there > 0 {
		report.Present++
		if want, err := src.messages(ctx, item.id); err != nil {
			return err
		} else if want > have {
			report.Grown++
			report.note("session %s is here already and was left as it is; the source has %d messages, here are %d", item.id, want, have)
		}
		return nil
	}
	var added ImportReport
	nothing := func() error { return nil }
	err = s.transact(ctx, TranscriptBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		added = ImportReport{} // the transaction may be tried again
		return src.copySession(ctx, tx, item, &added)
	})
	if err == nil {
		report.add(added)
	}
	return err
}

// importGenerations keeps the higher of two generations: they only ever grow (rule S-101).
func (s *Store) importGenerations(ctx context.Context, src *importSource) error {
	if src.tables["conversation_generations"] == nil {
		return nil
	}
	nothing := func() error { return nil }
	return s.transact(ctx, TranscriptBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		var ignored ImportReport // a generation that cannot be read counts nothing
		return src.each(ctx, "conversation_generations", "1", nil, &ignored, func(row importRow) error {
			key, _ := row.values["session_key"].(string)
			_, err := tx.ExecContext(ctx, `INSERT INTO conversation_generations (source, session_key, generation) VALUES (?, ?, ?)
				ON CONFLICT (source, session_key) DO UPDATE SET generation = MAX(generation, excluded.generation)`,
				row.values["source"], rekey(key, src.profile), row.values["generation"])
			return err
		})
	})
}

// orderParentsFirst sorts sessions so that each comes after the one it continues. A parent that is missing, or that would
// close a circle, is dropped and named in broken.
func orderParentsFirst(items []importItem) (ordered []importItem, broken []string) {
	at := map[string]int{}
	for i, item := range items {
		at[item.id] = i
	}
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(items))
	for i := range items {
		// The chain from i up to a session that is placed already, or to one without a parent.
		var chain []int
		for j := i; state[j] == fresh; {
			state[j] = open
			chain = append(chain, j)
			if items[j].parent == "" {
				break
			}
			next, known := at[items[j].parent]
			if !known || state[next] == open {
				broken = append(broken, items[j].id)
				items[j].parent = ""
				break
			}
			j = next
		}
		for _, j := range slices.Backward(chain) {
			state[j] = done
			ordered = append(ordered, items[j])
		}
	}
	return ordered, broken
}

// rekey puts a routing key into the namespace of another profile (rule G-117).
func rekey(key, profile string) string {
	parts := strings.SplitN(key, ":", 3)
	if profile == "" || len(parts) != 3 || parts[0] != "agent" {
		return key
	}
	namespace := profile
	switch profile {
	case "default":
		namespace = "main"
	case "main":
		namespace = "main~"
	}
	return "agent:" + namespace + ":" + parts[2]
}
