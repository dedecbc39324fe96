// Package llm talks to language models.
//
// It owns the model-facing types (Message, ToolCall, Request, Response, Usage), the streaming client for any
// server that speaks OpenAI-compatible chat completions, the classification of what can go wrong, the back-off
// between attempts, the rotation over several keys, the table of known providers and an offline demo model.
//
// It must never read the process environment or a proxy setting from it, keep a key longer than one attempt,
// follow a redirect (the key would travel with it), hand partial text out as a message, or touch a store.
//
// The wire types and the event-stream decoder are our own although openai-go exists: "compatible" servers differ
// in ways its generated types hide (reasoning_content, tool calls without an index), its decoder ends a stream at the
// first empty keepalive frame and takes one cut between events for complete, and its retries and timeouts cannot be
// timed with an injected clock. test/fakemodel is checked against openai-go, so both sides are held to the real protocol.
//
// Implements the plugins-providers-agent specification, section L.3 (errors, retries) and L.4 (classification),
// L5, L9, L17, L18, L20, L25-L27 and M8-M9, for the chat_completions wire.
package llm
