package agent

import (
	"slices"
	"strconv"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// opening stands in front of a history that does not begin with a person: a provider refuses one.
const opening = "[The conversation begins here.]"

// Alternate gives the rows of a session as the conversation they stand for: it begins with a user row, only tool rows
// repeat, every call has exactly one result right behind it in call order, and call ids are unique. What is not part
// of a conversation is left out: system and unknown roles, rows that say nothing, results of no call. A call without a
// result gets one that says that its effect is unknown. Two user rows in a row become one, unless one of them is a
// steer or a peer's message: those stay rows of their own (P-29), and the wire copy joins them (P-30).
//
// It is a pure function: legal rows come back as they are, byte by byte, and applying it twice changes nothing. The
// result for more rows begins with the result for fewer, as long as what follows does not join the last of them.
// The rows given are not changed. Implements L2.
func Alternate(rows []store.Message) []store.Message {
	legal, _ := alternate(rows)
	return legal
}

// alternate also gives the call ids that the rows use.
func alternate(rows []store.Message) ([]store.Message, callIDs) {
	a := alternation{out: make([]store.Message, 0, len(rows)+2), used: callIDs{}}
	for i := 0; i < len(rows); i++ {
		switch row := rows[i]; row.Role {
		case llm.RoleUser:
			a.user(row)
		case llm.RoleAssistant:
			results := i + 1
			for i+1 < len(rows) && rows[i+1].Role == llm.RoleTool {
				i++
			}
			a.assistant(row, rows[results:i+1])
		}
	}
	return a.out, a.used
}

type alternation struct {
	out  []store.Message
	used callIDs
}

func (a *alternation) user(row store.Message) {
	if sent(row) == "" {
		return
	}
	if last := a.last(); last != nil && last.Role == llm.RoleUser && ordinary(*last) && ordinary(row) {
		*last = joinRows(*last, row)
		return
	}
	a.out = append(a.out, row)
}

func (a *alternation) assistant(row store.Message, results []store.Message) {
	calls := decodeCalls(row.ToolCalls)
	if len(calls) == 0 {
		row.ToolCalls = nil
		if sent(row) == "" {
			return
		}
	}
	if len(a.out) == 0 {
		a.out = append(a.out, store.Message{SessionID: row.SessionID, Role: llm.RoleUser, Content: opening, DisplayKind: DisplayNotice})
	}
	answers := answersOf(calls, results)
	if own := a.used.claim(calls); !slices.Equal(own, calls) {
		calls = own
		row.ToolCalls, _ = encodeCalls(calls) // strings only: it cannot fail
	}
	if last := a.last(); last.Role == llm.RoleAssistant {
		*last = joinRows(*last, row)
	} else {
		a.out = append(a.out, row)
	}
	for i, c := range calls {
		answer := toolRow(c, resultUnknown, EffectUnknown)
		if answers[i] != nil {
			answer = *answers[i]
			answer.ToolCallID = c.ID
		}
		a.out = append(a.out, answer)
	}
}

func (a *alternation) last() *store.Message {
	if len(a.out) == 0 {
		return nil
	}
	return &a.out[len(a.out)-1]
}

// callIDs are the call ids of a session so far.
type callIDs map[string]bool

// claim gives the calls with ids that no call before them has, their own where possible. Some servers number the calls
// of every answer from zero, and others refuse a history in which an id comes twice.
func (used callIDs) claim(calls []llm.ToolCall) []llm.ToolCall {
	out := slices.Clone(calls)
	for i, c := range out {
		base, id := c.ID, c.ID
		if base == "" {
			base = "call"
		}
		for n := len(used) + 1; id == "" || used[id]; n++ {
			id = base + "_" + strconv.Itoa(n)
		}
		used[id], out[i].ID = true, id
	}
	return out
}

// answersOf finds the result of each call, nil where there is none. Results of equal ids belong to the calls in order.
func answersOf(calls []llm.ToolCall, results []store.Message) []*store.Message {
	byID := map[string][]*store.Message{}
	for i := range results {
		byID[results[i].ToolCallID] = append(byID[results[i].ToolCallID], &results[i])
	}
	out := make([]*store.Message, len(calls))
	for i, c := range calls {
		if found := byID[c.ID]; len(found) > 0 {
			out[i], byID[c.ID] = found[0], found[1:]
		}
	}
	return out
}

// ordinary reports whether a user row is a turn's own text and not one that was put into a turn.
func ordinary(row store.Message) bool {
	return row.DisplayKind != DisplaySteer && row.DisplayKind != DisplayPeer
}

// sent is the text of a row that the model gets.
func sent(row store.Message) string {
	if row.APIContent != "" {
		return row.APIContent
	}
	return row.Content
}

// joinRows makes one of two rows of a role, of which the first calls no tools. What a provider wants back verbatim is
// the second's, which is the one whose calls follow.
func joinRows(a, b store.Message) store.Message {
	out := a
	if a.APIContent != "" || b.APIContent != "" {
		out.APIContent = paragraphs(sent(a), sent(b))
	}
	out.Content = paragraphs(a.Content, b.Content)
	out.ToolCalls, out.FinishReason = b.ToolCalls, b.FinishReason
	out.Reasoning, out.ReasoningContent, out.ReasoningDetails = b.Reasoning, b.ReasoningContent, b.ReasoningDetails
	out.CodexReasoningItems, out.CodexMessageItems = b.CodexReasoningItems, b.CodexMessageItems
	return out
}

func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
