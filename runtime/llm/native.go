package llm

import (
	"encoding/json"
	"strings"
)

// native is the content of Message.Native: what a server wants back with its own message, and which server that is.
// A signature or an encrypted blob means nothing to another host, and strict hosts refuse fields they do not know, so
// it goes back to the host it came from only.
type native struct {
	Host string `json:"host"`
	// Blocks is the layout of an Anthropic answer: opaque blocks as they came, and a placeholder for each text and
	// each call, whose content the message itself holds.
	Blocks []json.RawMessage `json:"blocks,omitempty"`
	// Details and Content are reasoning_details and reasoning_content of a chat completions answer.
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
	Content string            `json:"reasoning_content,omitempty"`
}

// nativeOf reads a message's native part for a host. What came from another host, or is not ours, is nothing.
func nativeOf(m Message, host string) (native, bool) {
	if len(m.Native) == 0 {
		return native{}, false
	}
	var n native
	if json.Unmarshal(m.Native, &n) != nil || n.Host == "" || n.Host != host {
		return native{}, false
	}
	return n, true
}

func (n native) encode(host string) json.RawMessage {
	n.Host = host
	b, err := json.Marshal(n)
	if err != nil {
		return nil // a block that is not JSON cannot be sent back either
	}
	return b
}

// chatNative collects reasoning_content and reasoning_details of a stream.
type chatNative struct {
	content strings.Builder
	details []json.RawMessage
	bytes   int
}

func (c *chatNative) add(d *wireDelta) {
	c.content.WriteString(d.ReasoningContent)
	for _, raw := range d.ReasoningDetails {
		c.bytes += len(raw)
		c.addDetail(raw)
	}
}

func (c *chatNative) size() int { return c.content.Len() + c.bytes }

// addDetail appends a detail, or continues the one before: a stream sends a detail in pieces of one type and index,
// whose texts have to be joined to be what the server made.
func (c *chatNative) addDetail(raw json.RawMessage) {
	var next map[string]json.RawMessage
	if json.Unmarshal(raw, &next) != nil || next == nil {
		return
	}
	n := len(c.details) - 1
	var last map[string]json.RawMessage
	if n < 0 || json.Unmarshal(c.details[n], &last) != nil || !samePiece(last, next) {
		c.details = append(c.details, append(json.RawMessage(nil), raw...))
		return
	}
	for k, v := range next {
		switch k {
		case "text", "summary", "data":
			last[k] = joinStrings(last[k], v)
		default:
			if string(v) != "null" {
				last[k] = v
			}
		}
	}
	if b, err := json.Marshal(last); err == nil {
		c.details[n] = b
	}
}

// samePiece reports whether two details are pieces of one: same type, same index, and an index at all.
func samePiece(a, b map[string]json.RawMessage) bool {
	return len(a["index"]) > 0 && string(a["index"]) == string(b["index"]) && string(a["type"]) == string(b["type"])
}

func joinStrings(a, b json.RawMessage) json.RawMessage {
	var x, y string
	_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y) // null and absent are ""
	out, err := json.Marshal(x + y)
	if err != nil {
		return a
	}
	return out
}

// encode gives Message.Native, nil when the server sent nothing that it may want back.
func (c *chatNative) encode(host string) json.RawMessage {
	if c.content.Len() == 0 && len(c.details) == 0 {
		return nil
	}
	return native{Content: c.content.String(), Details: c.details}.encode(host)
}
