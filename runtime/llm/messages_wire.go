package llm

import "encoding/json"

// messagesRequest is the body of POST /v1/messages. As in wireRequest, what stays the same between two requests of a
// session comes before the messages, which only grow.
type messagesRequest struct {
	Model       string         `json:"model"`
	Stream      bool           `json:"stream"`
	MaxTokens   int64          `json:"max_tokens"`
	Temperature *float64       `json:"temperature,omitempty"`
	Thinking    *thinkingParam `json:"thinking,omitempty"`
	Tools       []toolParam    `json:"tools,omitempty"`
	System      []contentBlock `json:"system,omitempty"`
	Messages    []messageParam `json:"messages"`
}

type thinkingParam struct {
	Type string `json:"type"`
}

type toolParam struct {
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	InputSchema  map[string]any `json:"input_schema"`
	CacheControl *cacheControl  `json:"cache_control,omitempty"`
}

type messageParam struct {
	Role    string         `json:"role"`
	Content []contentBlock `json:"content"`
}

// contentBlock is a text, tool_use or tool_result block, or with raw one that came from the server and goes back as it
// is.
type contentBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`

	raw json.RawMessage
}

// MarshalJSON writes raw blocks as they are.
func (b contentBlock) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain contentBlock
	return json.Marshal(plain(b))
}

// cacheControl marks the end of a prefix that the server shall keep.
type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// messagesEvent is one event of a stream.
type messagesEvent struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *messagesAnswer `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		PartialJSON string          `json:"partial_json"`
		Thinking    string          `json:"thinking"`
		Signature   string          `json:"signature"`
		Citation    json.RawMessage `json:"citation"`
		StopReason  string          `json:"stop_reason"`
	} `json:"delta"`
	Usage *messagesUsage `json:"usage"`
	Error *wireError     `json:"error"`
}

// messagesAnswer is an answer in one piece, and the beginning of a stream.
type messagesAnswer struct {
	Type       string            `json:"type"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *messagesUsage    `json:"usage"`
	Error      *wireError        `json:"error"`
}

// messagesUsage counts tokens. Every number is the total of the whole message so far; those that did not change may
// be left out. input_tokens has neither what the cache served nor what it stored.
type messagesUsage struct {
	InputTokens   *wireCount `json:"input_tokens"`
	OutputTokens  *wireCount `json:"output_tokens"`
	CacheCreation *wireCount `json:"cache_creation_input_tokens"`
	CacheRead     *wireCount `json:"cache_read_input_tokens"`
	OutputDetails *struct {
		ThinkingTokens wireCount `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// update takes the counters an event names. Implements M9.
func (u *messagesUsage) update(into *Usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		from *wireCount
		to   *int64
	}{{u.InputTokens, &into.Input}, {u.OutputTokens, &into.Output}, {u.CacheCreation, &into.CacheWrite}, {u.CacheRead, &into.CacheRead}} {
		if c.from != nil {
			*c.to = int64(*c.from)
		}
	}
	if u.OutputDetails != nil {
		into.Reasoning = int64(u.OutputDetails.ThinkingTokens)
	}
}
