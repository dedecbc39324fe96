package compaction

import (
	"slices"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

const (
	// countFloor bounds protect_last_n as a minimum. Implements S-404.
	countFloor = 8
	// newestKept is how many of the newest rows are not demoted under pressure. Implements S-407.
	newestKept = 3
)

// Plan divides a session's active rows. Every row is in exactly one part; the order within and between the parts is
// that of the rows, but for anchors, which lie between rows of Replace.
type Plan struct {
	// Head stays at the beginning.
	Head []store.Message
	// Replace is what the summary stands for. An earlier summary is among it.
	Replace []store.Message
	// Anchors are what was said last, when that lies before the tail.
	Anchors []store.Message
	// Tail stays at the end. TailTokens is its size before any stub.
	Tail       []store.Message
	TailTokens int64

	window   int64
	settings Settings
}

// Divide plans for a window; 0 is unknown. Implements S-402 to S-404 and S-407.
func Divide(rows []store.Message, window int64, s Settings) Plan {
	head := headEnd(rows, s.ProtectFirstN)
	cut := tailStart(rows, head, window, s)
	p := Plan{Head: rows[:head], Tail: rows[cut:], window: window, settings: s}
	p.TailTokens = TotalTokens(p.Tail)
	anchors := anchorsBefore(rows, head, cut, s)
	for i := head; i < cut; i++ {
		if anchors[i] {
			p.Anchors = append(p.Anchors, rows[i])
		} else {
			p.Replace = append(p.Replace, rows[i])
		}
	}
	return p
}

// Summarises reports whether there is anything that a summary could stand for, beside earlier summaries.
func (p Plan) Summarises() bool {
	return slices.ContainsFunc(p.Replace, func(r store.Message) bool { return !r.CompressedSummary })
}

// headEnd is where the head ends: after n rows and the results of the calls in it, before any earlier summary.
func headEnd(rows []store.Message, n int) int {
	end := 0
	for end < len(rows) && end < n && !rows[end].CompressedSummary {
		end++
	}
	if end == 0 {
		return 0
	}
	for end < len(rows) && rows[end].Role == llm.RoleTool {
		end++
	}
	return end
}

// tailStart walks back from the newest row until the budget is spent. A row that crosses the budget is taken whole up to
// the soft ceiling, and so are those of the count floor. The tail never begins inside a tool group, nor with an answer
// whose results are left behind, and it ends at the newest summary.
func tailStart(rows []store.Message, head int, window int64, s Settings) int {
	budget, ceiling := s.Budget(window), s.SoftCeiling(window)
	floor := min(s.ProtectLastN, countFloor)
	cut := len(rows)
	for total := int64(0); cut > head && !rows[cut-1].CompressedSummary; cut-- {
		n := Tokens(rows[cut-1])
		spent := total >= budget && len(rows)-cut >= floor
		if len(rows)-cut > 0 && (spent || total+n > ceiling) {
			break
		}
		total += n
	}
	return alignStart(rows, head, cut)
}

// alignStart moves a boundary back to the beginning of the tool group that it cuts or directly follows.
func alignStart(rows []store.Message, head, cut int) int {
	if cut == len(rows) || callsTools(rows[cut]) || rows[cut].Role == llm.RoleUser {
		return cut
	}
	for cut > head && (rows[cut].Role == llm.RoleTool || rows[cut-1].Role == llm.RoleTool) && !rows[cut-1].CompressedSummary {
		cut--
		if callsTools(rows[cut]) {
			break
		}
	}
	return cut
}

// anchorsBefore marks what stays although it lies before the tail: the person's newest messages and, when one of them
// follows it, the agent's last reply. Implements the anchors of S-404.
func anchorsBefore(rows []store.Message, head, cut int, s Settings) map[int]bool {
	marked := map[int]bool{}
	wanted := max(1, s.MinTailUserMessages)
	for i := len(rows) - 1; i >= head && wanted > 0; i-- {
		if fromPerson(rows[i]) {
			marked[i] = i < cut
			wanted--
		}
	}
	for i := len(rows) - 1; i >= head; i-- {
		if !isReply(rows[i]) {
			continue
		}
		if i < cut {
			// A reply that another assistant row would follow stays with the summary: roles have to alternate.
			next := slices.IndexFunc(rows[i+1:cut], func(r store.Message) bool { return r.Role == llm.RoleUser && fromPerson(r) })
			marked[i] = next >= 0 && marked[i+1+next] || next < 0 && cut < len(rows) && rows[cut].Role == llm.RoleUser
		}
		break
	}
	return marked
}
