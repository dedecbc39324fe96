package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

const (
	// maxIDs is how many ids one statement names (rule S-106).
	maxIDs = 900
	// maxDeletedMessages is how many messages one transaction deletes before it lets other writes pass: taking a
	// message out of the full-text index takes as long as putting it in, about a millisecond a kilobyte.
	maxDeletedMessages = 500

	// DefaultPruneAge is how long a session stays after its last use when a prune does not say.
	DefaultPruneAge = 90 * 24 * time.Hour
)

// PruneOptions choose what a prune deletes.
type PruneOptions struct {
	// OlderThan is how long ago a session must have been used last; 0 is DefaultPruneAge.
	OlderThan time.Duration
	// Source keeps to conversations with a session of that source; empty takes all.
	Source string
	// DryRun only counts.
	DryRun bool
}

// Pruned is what a prune deleted, or would.
type Pruned struct {
	// Sessions are the deleted sessions' ids.
	Sessions []string
	// Messages is the number of rows that went with them; a dry run gives what the sessions count.
	Messages int64
}

// Prune deletes conversations that ended and were not used for a while. A conversation that compression split over
// several sessions goes as a whole or stays; pinned ones stay. Counters of conversation generations stay as well.
// It deletes in several transactions, so other writes pass between them; on an error the result is what was
// deleted so far.
//
// Implements S-101, S-106 and S-145.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	if o.OlderThan < 0 {
		return Pruned{}, fmt.Errorf("prune: an age of %s is in the future: give how old a session must be", o.OlderThan)
	}
	if o.OlderThan == 0 {
		o.OlderThan = DefaultPruneAge
	}
	cutoff := s.clock.Now().Add(-o.OlderThan)
	all, err := s.lineages(ctx)
	if err != nil {
		return Pruned{}, err
	}
	chosen := slices.DeleteFunc(all, func(l lineage) bool { return !l.prunable(cutoff, o.Source) })
	var done Pruned
	if o.DryRun {
		for _, l := range chosen {
			done.Sessions, done.Messages = append(done.Sessions, l.ids()...), done.Messages+l.messages()
		}
		return done, nil
	}
	for batch := range batches(chosen) {
		part, err := s.deleteLineages(ctx, batch, cutoff)
		done.Sessions, done.Messages = append(done.Sessions, part.Sessions...), done.Messages+part.Messages
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// DeleteSession deletes a conversation: the session, those that compression linked to it, those that did what it
// delegated, and their messages and usage. Sessions that branched from it stay and lose their parent. The caller makes sure that no turn runs in it.
// Errors: ErrNoSession.
//
// Implements S-101.
func (s *Store) DeleteSession(ctx context.Context, id string) (Pruned, error) {
	all, err := s.lineages(ctx)
	if err != nil {
		return Pruned{}, err
	}
	for _, l := range all {
		if slices.Contains(l.ids(), id) {
			return s.deleteLineages(ctx, append(delegated(all, l), l), time.Time{})
		}
	}
	return Pruned{}, noSession(id)
}

func (s *Store) lineages(ctx context.Context) (all []lineage, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		rows, err := q.PruneRows(ctx)
		all = lineages(rows)
		return err
	})
	return all, err
}

// batches splits conversations into transactions, without splitting a conversation.
func batches(all []lineage) func(yield func([]lineage) bool) {
	return func(yield func([]lineage) bool) {
		var batch []lineage
		sessions, messages := 0, int64(0)
		for _, l := range all {
			if len(batch) > 0 && (sessions+len(l) > maxIDs || messages+l.messages() > maxDeletedMessages) {
				if !yield(batch) {
					return
				}
				batch, sessions, messages = nil, 0, 0
			}
			batch, sessions, messages = append(batch, l), sessions+len(l), messages+l.messages()
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// deleteLineages deletes conversations in one transaction, leaving out those that were used at or after cutoff since
// they were chosen; the zero time leaves none out.
func (s *Store) deleteLineages(ctx context.Context, batch []lineage, cutoff time.Time) (done Pruned, err error) {
	err = s.write(ctx, RoutineBudget, func(ctx context.Context, q *db.Queries) error {
		done = Pruned{}
		for _, l := range batch {
			used, err := usedSince(ctx, q, l.ids(), cutoff)
			if err != nil {
				return err
			}
			if !used {
				done.Sessions = append(done.Sessions, l.ids()...)
			}
		}
		done.Messages, err = deleteSessions(ctx, q, done.Sessions)
		return err
	})
	if err != nil {
		return Pruned{}, err
	}
	return done, nil
}

func usedSince(ctx context.Context, q *db.Queries, ids []string, cutoff time.Time) (bool, error) {
	if cutoff.IsZero() {
		return false, nil
	}
	for chunk := range slices.Chunk(ids, maxIDs) {
		used, err := q.UsedSince(ctx, db.UsedSinceParams{Ids: chunk, Cutoff: epoch(cutoff)})
		if err != nil || len(used) > 0 {
			return true, err
		}
	}
	return false, nil
}

// deleteSessions deletes everything the sessions own. Children are let go first, in all chunks, because a parent
// may be in one chunk and its child in another.
func deleteSessions(ctx context.Context, q *db.Queries, ids []string) (messages int64, err error) {
	var keys []string
	for chunk := range slices.Chunk(ids, maxIDs) {
		found, err := q.SessionKeysOf(ctx, chunk)
		if err != nil {
			return 0, err
		}
		keys = append(keys, found...)
		if err := q.DetachChildren(ctx, nullTexts(chunk)); err != nil {
			return 0, err
		}
	}
	for chunk := range slices.Chunk(ids, maxIDs) {
		n, err := q.DeleteSessionMessages(ctx, chunk)
		if err != nil {
			return 0, err
		}
		messages += n
		for _, step := range []func(context.Context, []string) error{
			q.DeleteSessionUsage, q.DeleteCompressionLocks, q.DeleteTurnLeases,
			func(ctx context.Context, ids []string) error { return q.DeleteDelegationsOf(ctx, nullTexts(ids)) },
		} {
			if err := step(ctx, chunk); err != nil {
				return 0, err
			}
		}
		if err := q.DeleteMeta(ctx, steerKeys(chunk)); err != nil {
			return 0, err
		}
		if _, err := q.DeleteSessionRows(ctx, chunk); err != nil {
			return 0, err
		}
	}
	for chunk := range slices.Chunk(keys, maxIDs) {
		if err := q.DeleteLostRoutes(ctx, chunk); err != nil {
			return 0, err
		}
		if err := q.DeleteLostHygiene(ctx, chunk); err != nil {
			return 0, err
		}
	}
	return messages, q.DeleteLostPrompts(ctx)
}
