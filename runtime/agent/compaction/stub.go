package compaction

import (
	"fmt"
	"unicode/utf8"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

const (
	// recentRounds is how many of the newest tool rounds keep their results whole, and stubOver how long a result may
	// be without being replaced, in characters. Implements S-407.
	recentRounds = 6
	stubOver     = 1_500
	// clipTo is how much of a result is left at each end when nothing else helps, in characters.
	clipTo = 600
	// saidMost is how much of a message is left at the very most when it has to be cut, in characters.
	saidMost = 32_000
)

// stub puts a recovery stub in place of a tool result in what the model gets. People still see the result.
func stub(r store.Message) store.Message {
	r.APIContent = fmt.Sprintf("[tool output left out to save space: %s returned %d characters; call it again if they are needed]",
		nameOf(r), utf8.RuneCountInString(r.Content))
	return r
}

// clip leaves the ends of a tool result.
func clip(r store.Message) store.Message {
	r.APIContent = fmt.Sprintf("%s\n[%d characters of this tool output were left out to save space; ask for less of it if they are needed]\n%s",
		firstRunes(r.Content, clipTo), utf8.RuneCountInString(r.Content)-2*clipTo, lastRunes(r.Content, clipTo))
	return r
}

func nameOf(r store.Message) string {
	if r.ToolName == "" {
		return "the tool"
	}
	return r.ToolName
}

// stubbable reports whether a row is a tool result that a stub makes smaller. What was stubbed once stays as it is.
func stubbable(r store.Message) bool {
	return r.Role == llm.RoleTool && r.APIContent == "" && utf8.RuneCountInString(r.Content) > stubOver
}

// ageOut stubs the long results that are older than the newest rounds of all kept rows. Implements S-407.
func ageOut(rows []store.Message) {
	rounds := 0
	for i := len(rows) - 1; i >= 0; i-- {
		switch {
		case rounds >= recentRounds && stubbable(rows[i]):
			rows[i] = stub(rows[i])
		case callsTools(rows[i]):
			rounds++
		}
	}
}

// demote stubs results, the oldest first, until the rows fit into ceiling tokens. The newest rows of all are left
// alone. Implements S-403 and S-407.
func demote(rows []store.Message, ceiling int64) {
	total := TotalTokens(rows)
	for i := 0; i < len(rows)-newestKept && total > ceiling; i++ {
		if stubbable(rows[i]) {
			total -= Tokens(rows[i])
			rows[i] = stub(rows[i])
			total += Tokens(rows[i])
		}
	}
}

// clipNewest is the last resort: it cuts the newest results, which demote leaves alone, until the rows fit.
func clipNewest(rows []store.Message, ceiling int64) {
	total := TotalTokens(rows)
	for i := max(0, len(rows)-newestKept); i < len(rows) && total > ceiling; i++ {
		if stubbable(rows[i]) {
			total -= Tokens(rows[i])
			rows[i] = clip(rows[i])
			total += Tokens(rows[i])
		}
	}
}

// clipSaid cuts what was said in one message, and is larger than a whole window, to its ends: such a message would keep
// the session from ever being answered again. window is in tokens, 0 is unknown; a character is a token at most. What
// was cut before is cut again when it is too large still.
func clipSaid(rows []store.Message, window int64) {
	keep := int64(saidMost)
	if window > 0 {
		keep = min(keep, max(window, 2*clipTo))
	}
	for i, r := range rows {
		if r.Role != llm.RoleUser || r.CompressedSummary || Tokens(r) <= keep {
			continue
		}
		text := sent(r)
		rows[i].APIContent = fmt.Sprintf("%s\n[%d characters of this message were left out here: it is too large for the model's window. "+
			"Say so, and ask for the part that is needed]\n%s",
			firstRunes(text, int(keep/2)), utf8.RuneCountInString(r.Content)-int(keep), lastRunes(text, int(keep/2)))
	}
}

// middle cuts a text to n characters, half of them from each end, and says so.
func middle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	count := utf8.RuneCountInString(text)
	if count <= n {
		return text
	}
	return fmt.Sprintf("%s … %d characters … %s", firstRunes(text, n/2), count-n/2*2, lastRunes(text, n/2))
}

func firstRunes(text string, n int) string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

func lastRunes(text string, n int) string {
	begin := len(text)
	for ; n > 0 && begin > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:begin])
		begin -= size
	}
	return text[begin:]
}
