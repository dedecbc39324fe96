// Package llm talks to language models.
//
// It owns the model-facing types (Message, ToolCall, Request, Response, Usage), the one streaming client and the two
// dialects it speaks (OpenAI-compatible chat completions and Anthropic messages), the classification of what can go
// wrong, the back-off between attempts, the rotation over several keys, the one-shot rewrites that cure a refusal, the
// chain that asks another model, the plan of cache markers, the table of known providers and an offline demo model.
//
// It must never read the process environment or a proxy setting from it, keep a key longer than one attempt,
// follow a redirect (the key would travel with it), hand partial text out as a message, send one host what another
// signed, or touch a store.
//
// The wire types and the event-stream decoder are our own although openai-go and anthropic-sdk-go exist: "compatible"
// servers differ in ways generated types hide (reasoning_content, tool calls without an index, blocks of kinds nobody
// announced), their decoders end a stream at the first empty keepalive frame and take one cut between events for
// complete, and their retries and timeouts cannot be timed with an injected clock. The Anthropic client alone would
// also bring the whole administration API into the binary. test/fakemodel is checked against both, and so are our
// requests, so all sides are held to the real protocols.
//
// Implements the plugins-providers-agent specification, sections L.2 (prompt caching), L.3 (errors, retries, fallback)
// and L.4 (classification), L5, L9 and M8-M9, and gateway-cron-sessions section 7.2 (S-420..S-423).
package llm
