package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// wireRequest is the body of POST /chat/completions. The field order is part of the contract: everything that stays
// the same between two requests of a session comes before the messages, which only grow, so that request N+1 starts
// with the bytes of request N and every prefix cache on the way can use them.
type wireRequest struct {
	Model               string             `json:"model"`
	Stream              bool               `json:"stream"`
	StreamOptions       *wireStreamOptions `json:"stream_options,omitempty"`
	MaxTokens           int64              `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64              `json:"max_completion_tokens,omitempty"`
	Temperature         *float64           `json:"temperature,omitempty"`
	Reasoning           *wireReasoning     `json:"reasoning,omitempty"`
	Tools               []wireTool         `json:"tools,omitempty"`
	Messages            []wireMessage      `json:"messages"`
}

type wireStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// wireReasoning is OpenRouter's switch for thinking.
type wireReasoning struct {
	Enabled bool `json:"enabled"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

type wireMessage struct {
	Role string `json:"role"`
	// Content is null, not absent, for an assistant that only calls tools: some servers require the field.
	Content    wireContent `json:"content"`
	ToolCalls  []wireCall  `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
	// What the server sent with the message and wants back.
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

// wireContent is null, a text, or with parts a list of text parts, the form that can carry a cache marker.
type wireContent struct {
	text  *string
	parts []contentBlock
}

// MarshalJSON writes the form that is set.
func (c wireContent) MarshalJSON() ([]byte, error) {
	if c.parts != nil {
		return json.Marshal(c.parts)
	}
	return json.Marshal(c.text)
}

type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireCallFunc `json:"function"`
}

type wireCallFunc struct {
	Name      string   `json:"name,omitempty"`
	Arguments wireArgs `json:"arguments"`
}

// wireArgs is a call's arguments. The protocol has a string of JSON; some servers send the object itself.
type wireArgs string

// UnmarshalJSON accepts both forms.
func (a *wireArgs) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0, bytes.Equal(b, []byte("null")):
		*a = ""
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*a = wireArgs(s)
	default:
		*a = wireArgs(b)
	}
	return nil
}

// wireChunk is one event of a stream, and with Message in place of Delta also a whole answer.
type wireChunk struct {
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage"`
	Error   *wireError   `json:"error"`
}

type wireChoice struct {
	Index        int       `json:"index"`
	Delta        wireDelta `json:"delta"`
	Message      wireDelta `json:"message"`
	FinishReason string    `json:"finish_reason"`
}

type wireDelta struct {
	Content          string     `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent string     `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        string     `json:"reasoning"`         // OpenRouter, Groq, Ollama
	ToolCalls        []wireCall `json:"tool_calls"`
	// ReasoningDetails is what OpenRouter and its kin want back verbatim.
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
}

type wireUsage struct {
	PromptTokens        wireCount `json:"prompt_tokens"`
	CompletionTokens    wireCount `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     wireCount `json:"cached_tokens"`
		CacheWriteTokens wireCount `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens wireCount `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHitTokens wireCount `json:"prompt_cache_hit_tokens"` // DeepSeek's name for cached_tokens
}

// maxCount is the largest counter believed, in tokens. Sums of it over millions of answers stay exact; near the limit
// of int64 two answers make a sum that the store cannot read back, and with it the session.
const maxCount = 1 << 40

// wireCount is a counter of tokens from 0 to maxCount. What is no number counts as zero: an answer is not lost over its
// bill.
type wireCount int64

// UnmarshalJSON never fails.
func (n *wireCount) UnmarshalJSON(b []byte) error {
	*n = 0
	// A float holds every number up to maxCount exactly, and takes what is far beyond int64 as well.
	if f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64); f > 0 && (err == nil || errors.Is(err, strconv.ErrRange)) {
		*n = wireCount(min(f, maxCount))
	}
	return nil
}

// usage turns the server's counters into ours: the prompt is split into its cached and uncached parts, and a counter
// below zero counts as zero. Implements M9.
func (u *wireUsage) usage() Usage {
	if u == nil {
		return Usage{}
	}
	read := int64(max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens))
	write := int64(u.PromptTokensDetails.CacheWriteTokens)
	return Usage{
		Input:      max(0, int64(u.PromptTokens)-read-write),
		Output:     int64(u.CompletionTokens),
		CacheRead:  read,
		CacheWrite: write,
		Reasoning:  int64(u.CompletionTokensDetails.ReasoningTokens),
	}
}

// wireError is the error object of an answer or of an event. Servers disagree about the type of code.
type wireError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"`
}

// UnmarshalJSON also takes a bare string, which some servers send as the whole error.
func (e *wireError) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &e.Message)
	}
	type plain wireError
	return json.Unmarshal(b, (*plain)(e))
}

func (e *wireError) code() string {
	switch c := e.Code.(type) {
	case string:
		return c
	case float64:
		b, _ := json.Marshal(c)
		return string(b)
	}
	return ""
}

// encodeChat builds the body of a request of DialectChat.
func encodeChat(r Request, rt Route, rw rewrites) ([]byte, error) {
	w := wireRequest{Model: r.Model, Stream: !r.NoStream, Temperature: r.Temperature}
	if w.Stream && !rt.NoStreamOptions {
		w.StreamOptions = &wireStreamOptions{IncludeUsage: true}
	}
	most := r.MaxTokens
	if rw.maxTokens > 0 && most > 0 {
		most = min(most, rw.maxTokens)
	}
	if rt.MaxCompletionTokens {
		w.MaxCompletionTokens = most
	} else {
		w.MaxTokens = most
	}
	if r.NoThinking && rt.ReasoningSwitch {
		w.Reasoning = &wireReasoning{}
	}
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction(t)})
	}
	plan, parts := planMarks(r, rt), partsRoute(rt, r.Model)
	w.Messages = make([]wireMessage, 0, len(r.Messages))
	for i, m := range r.Messages {
		wm := encodeMessage(m, rt.Host())
		if parts && m.Role != RoleTool && m.Content != "" {
			// All of them, marked or not: the bytes must not change when the marker moves on.
			wm.Content.parts = textParts(r, i, plan)
		}
		w.Messages = append(w.Messages, wm)
	}
	return json.Marshal(w)
}

// textParts is the content of message i as parts, with the markers that belong there.
func textParts(r Request, i int, plan marks) []contentBlock {
	if i == 0 && r.Messages[0].Role == RoleSystem {
		return systemBlocks(Request{Messages: r.Messages[:1], StaticPrefix: r.StaticPrefix}, plan)
	}
	out := []contentBlock{{Type: "text", Text: r.Messages[i].Content}}
	if plan.on(i) {
		mark(out, plan.control())
	}
	return out
}

func encodeMessage(m Message, host string) wireMessage {
	w := wireMessage{Role: m.Role, Content: wireContent{text: &m.Content}, ToolCallID: m.ToolCallID}
	if len(m.ToolCalls) > 0 && m.Content == "" {
		w.Content.text = nil
	}
	if n, ok := nativeOf(m, host); ok {
		w.ReasoningContent, w.ReasoningDetails = n.Content, n.Details
	}
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireCall{
			ID: c.ID, Type: "function", Function: wireCallFunc{Name: c.Name, Arguments: wireArgs(c.Arguments)},
		})
	}
	return w
}
