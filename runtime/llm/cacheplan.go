package llm

import "strings"

// maxMarks is how many cache markers a request may have; one more is refused by the server. Implements S-423.
const maxMarks = 4

// marks is where the cache markers of one request go.
type marks struct {
	// ttl is the tier; CacheOff means that the route gets none.
	ttl CacheTTL
	// prefix marks the end of the static part of the system prompt, system its end, tool the last tool definition.
	prefix, system, tool bool
	// messages are indexes into Request.Messages.
	messages []int
}

func (m marks) count() int {
	n := len(m.messages)
	for _, on := range []bool{m.prefix, m.system, m.tool} {
		if on {
			n++
		}
	}
	return n
}

func (m marks) on(i int) bool {
	for _, j := range m.messages {
		if i == j {
			return true
		}
	}
	return false
}

// control is the marker itself.
func (m marks) control() *cacheControl {
	c := &cacheControl{Type: "ephemeral"}
	if m.ttl == Cache1h {
		c.TTL = "1h"
	}
	return c
}

// partsRoute reports whether a chat completions route passes markers on text parts on to the model.
func partsRoute(rt Route, model string) bool {
	return rt.Dialect == DialectChat && rt.CacheParts && strings.Contains(strings.ToLower(model), "claude")
}

// staticPrefix is the static part of the system prompt, "" when the hint does not fit it.
func staticPrefix(r Request) string {
	if r.StaticPrefix == "" || len(r.Messages) == 0 || r.Messages[0].Role != RoleSystem {
		return ""
	}
	rest, ok := strings.CutPrefix(r.Messages[0].Content, r.StaticPrefix)
	if !ok || strings.TrimSpace(rest) == "" || strings.TrimSpace(r.StaticPrefix) == "" {
		return ""
	}
	return r.StaticPrefix
}

// planMarks decides where the markers of a request go on a route. It is pure, reads the request only, and gives the
// same answer for the same request; a fallback to another route plans anew. Implements L10, L11, L12 and S-423.
func planMarks(r Request, rt Route) marks {
	m := marks{ttl: r.CacheTTL.forRoute(rt.Name, r.Model)}
	direct := rt.Dialect == DialectMessages && rt.Name == ProviderAnthropic
	if m.ttl == CacheOff || rt.Dialect != DialectMessages && !partsRoute(rt, r.Model) {
		return marks{ttl: CacheOff}
	}
	system := 0
	for system < len(r.Messages) && r.Messages[system].Role == RoleSystem {
		system++
	}
	hasSystem := system > 0 && strings.TrimSpace(r.Messages[system-1].Content) != ""
	m.prefix = staticPrefix(r) != ""
	m.tool = direct && len(r.Tools) > 0
	m.system = hasSystem && !(m.prefix && m.tool)
	most := maxMarks - m.count()
	if m.tool {
		most = min(most, 2)
	}
	for i := len(r.Messages) - 1; i >= system && most > 0; i-- {
		if markable(r.Messages, i, direct) {
			m.messages = append(m.messages, i)
			most--
		}
	}
	return m
}

// markable reports whether a message can carry a marker that is honoured. On the direct route these are the ends of
// what earlier requests and this one sent: a person's message, the last result of a batch. Elsewhere markers on tool
// results are lost, so the budget moves to a message with a text.
func markable(msgs []Message, i int, direct bool) bool {
	m := msgs[i]
	if strings.TrimSpace(m.Content) == "" {
		return false
	}
	if !direct {
		return m.Role == RoleUser || m.Role == RoleAssistant
	}
	sent := m.Role == RoleUser || m.Role == RoleTool
	return sent && (i+1 == len(msgs) || msgs[i+1].Role == RoleAssistant)
}

// mark puts a marker on the last block that can carry one.
func mark(content []contentBlock, c *cacheControl) {
	for i := len(content) - 1; i >= 0; i-- {
		if content[i].raw == nil && content[i].Type != "tool_use" {
			content[i].CacheControl = c
			return
		}
	}
}

// systemBlocks are the system messages as text blocks, the static part of the first in a block of its own.
func systemBlocks(r Request, m marks) []contentBlock {
	var out []contentBlock
	for i, msg := range r.Messages {
		if msg.Role != RoleSystem {
			break
		}
		text := msg.Content
		if prefix := staticPrefix(r); i == 0 && prefix != "" {
			out = append(out, contentBlock{Type: "text", Text: prefix})
			if m.prefix {
				mark(out, m.control())
			}
			text = strings.TrimPrefix(text, prefix)
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, contentBlock{Type: "text", Text: text})
		}
	}
	if m.system {
		mark(out, m.control())
	}
	return out
}
