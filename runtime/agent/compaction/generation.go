package compaction

import (
	"slices"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// displayNotice is the display kind of rows that nobody said.
const displayNotice = "notice"

// bridge is what the agent says between two rows that must not follow each other.
const bridge = "[An earlier part of this conversation was summarised.]"

// Generation is the new rows of the session: what the plan keeps, and summary for what it replaces; nil keeps those
// rows as well. lastResort also cuts the newest tool results and messages that no window has room for. It changes none of
// the plan's rows.
func (p Plan) Generation(summary *store.Message, lastResort bool) []store.Message {
	head, anchors, tail := slices.Clone(p.Head), slices.Clone(p.Anchors), slices.Clone(p.Tail)
	ceiling := p.settings.SoftCeiling(p.window)
	if p.settings.TailMode != TailLegacy {
		kept := slices.Concat(head, anchors, tail)
		ageOut(kept)
		head, anchors, tail = kept[:len(head)], kept[len(head):len(head)+len(anchors)], kept[len(head)+len(anchors):]
	}
	demote(tail, ceiling)
	if lastResort {
		clipNewest(tail, ceiling)
		for _, part := range [][]store.Message{head, anchors, tail} {
			clipSaid(part, p.window)
		}
	}
	if summary == nil {
		return p.inOrder(head, anchors, tail)
	}
	out := slices.Clone(head)
	out = seam(out, *summary)
	for _, a := range anchors {
		out = seam(out, a)
	}
	if len(tail) == 0 {
		return out
	}
	return append(seam(out, tail[0]), tail[1:]...)
}

// inOrder puts back what a plan without a summary does not replace.
func (p Plan) inOrder(head, anchors, tail []store.Message) []store.Message {
	between := append(slices.Clone(p.Replace), anchors...)
	slices.SortStableFunc(between, func(a, b store.Message) int { return int(a.ID - b.ID) })
	return slices.Concat(head, between, tail)
}

// seam appends a row, and before it a bridge when the roles would not alternate.
func seam(rows []store.Message, next store.Message) []store.Message {
	if n := len(rows); n > 0 && next.Role == llm.RoleUser && rows[n-1].Role != llm.RoleAssistant {
		rows = append(rows, store.Message{
			Role: llm.RoleAssistant, Content: bridge, FinishReason: llm.FinishStop, DisplayKind: displayNotice, CompressedSummary: true,
		})
	}
	return append(rows, next)
}
