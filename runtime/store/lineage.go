package store

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// endCompression is the end reason of a session that goes on under another id (rule S-103).
const endCompression = "compression"

// lineage is one conversation: the sessions that compression strung together, in order of their ids.
type lineage []db.PruneRowsRow

// ids of the sessions.
func (l lineage) ids() []string {
	ids := make([]string, len(l))
	for i, row := range l {
		ids[i] = row.ID
	}
	return ids
}

func (l lineage) messages() (n int64) {
	for _, row := range l {
		n += row.MessageCount
	}
	return n
}

// prunable is true when all of the conversation ended and was last used before cutoff, nobody pinned any of it, and
// it touches the source, where one is given. It is pure.
//
// Implements S-145.
func (l lineage) prunable(cutoff time.Time, source string) bool {
	limit := epoch(cutoff)
	matches := source == ""
	for _, row := range l {
		if row.EndedAt == 0 || row.LastUsed >= limit || row.Pinned != 0 {
			return false
		}
		matches = matches || row.Source == source
	}
	return matches
}

// lineages groups sessions into conversations, in order of their first ids. It is pure.
//
// Implements S-103.
func lineages(rows []db.PruneRowsRow) []lineage {
	byID := make(map[string]*db.PruneRowsRow, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	first := make(map[string]string, len(rows)) // session to the first of its conversation
	origin := func(id string) string {
		var passed []string
		for first[id] == "" {
			row := byID[id]
			first[id] = id // a file written by others may hold a circle
			passed = append(passed, id)
			if parent := byID[row.Parent]; parent != nil && continues(row, parent) {
				id = parent.ID
			}
		}
		for _, session := range passed {
			first[session] = first[id]
		}
		return first[id]
	}
	var order []string
	groups := map[string]lineage{}
	for i := range rows {
		start := origin(rows[i].ID)
		if groups[start] == nil {
			order = append(order, start)
		}
		groups[start] = append(groups[start], rows[i])
	}
	slices.Sort(order)
	out := make([]lineage, len(order))
	for i, start := range order {
		out[i] = groups[start]
	}
	return out
}

// continues is true when child goes on where compression ended parent. A branch, a delegate or a reset starts a
// conversation of its own; its marker counts only when it names this parent.
func continues(child, parent *db.PruneRowsRow) bool {
	if parent.EndReason != endCompression {
		return false
	}
	if !strings.Contains(child.ModelConfig, "_from") {
		return true
	}
	var markers struct {
		Branched string `json:"_branched_from"`
		Delegate string `json:"_delegate_from"`
		Reset    string `json:"_reset_from"`
	}
	if err := json.Unmarshal([]byte(child.ModelConfig), &markers); err != nil {
		return true // unreadable settings hold no marker
	}
	return !slices.Contains([]string{markers.Branched, markers.Delegate, markers.Reset}, parent.ID)
}

// delegated are the conversations of those who did what a conversation delegated: they are part of what was said in it.
// It is pure.
func delegated(all []lineage, of lineage) (children []lineage) {
	ids := of.ids()
	for _, l := range all {
		first := l[0]
		var marker struct {
			From string `json:"_delegate_from"`
		}
		if first.Parent == "" || !slices.Contains(ids, first.Parent) || json.Unmarshal([]byte(first.ModelConfig), &marker) != nil {
			continue
		}
		if marker.From == first.Parent {
			children = append(children, l)
		}
	}
	return children
}
