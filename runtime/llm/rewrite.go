package llm

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rewrites are the changes to a request that cure a refusal of the server: the one-shot recoveries of L15. Each is
// made once for a request; a refusal that outlives its cure is the client's error (L16).
type rewrites struct {
	// dropNative leaves out what the server wanted back: it refuses its own signatures or encrypted reasoning now.
	dropNative bool
	// dropFields leaves it out for good: the server refuses the fields themselves, which it sends all the same.
	dropFields bool
	// plainSchemas strips pattern and format from tool schemas, which llama.cpp turns into grammars it cannot parse.
	plainSchemas bool
	// keepThinking does not ask for an answer without thinking.
	keepThinking bool
	// dropLongContext drops the beta of the long context window, which a subscription login may not use.
	dropLongContext bool
	// maxTokens bounds the answer to what the model is capable of, in tokens; 0 is no bound.
	maxTokens int64
}

// next gives the rewrites after a refusal and whether they cure anything of this request that was not tried before.
// It is pure. Implements the recoveries of the L.4 rows thinking_signature, invalid_encrypted_content,
// reasoning_mandatory, llama_cpp_grammar_pattern and oauth_long_context_beta_forbidden.
func (w rewrites) next(e *Error, r Request, h http.Header) (rewrites, bool) {
	before := w
	switch e.Reason {
	case ReasonThinkingSignature, ReasonEncryptedContent:
		has := slices.ContainsFunc(r.Messages, func(m Message) bool { return len(m.Native) > 0 })
		if refusesFields(lower(e.Message)) {
			w.dropFields = w.dropFields || has
		} else {
			w.dropNative = w.dropNative || has
		}
	case ReasonReasoningMandatory:
		w.keepThinking = w.keepThinking || r.NoThinking
	case ReasonGrammarPattern:
		w.plainSchemas = w.plainSchemas || slices.ContainsFunc(r.Tools, func(t ToolDefinition) bool { return hasPattern(t.Parameters) })
	case ReasonLongContextBeta:
		w.dropLongContext = w.dropLongContext || slices.ContainsFunc(h.Values(betaHeader), isLongContext)
	case ReasonFormat:
		if n := allowedMaxTokens(e.Message); n > 0 && w.maxTokens == 0 {
			w.maxTokens = n
		}
	}
	return w, w != before
}

// apply makes the changes that concern the request itself, on copies.
func (w rewrites) apply(r Request) Request {
	if w.dropNative || w.dropFields {
		r.Messages = slices.Clone(r.Messages)
		for i := range r.Messages {
			r.Messages[i].Native = nil
		}
	}
	if w.plainSchemas {
		r.Tools = slices.Clone(r.Tools)
		for i := range r.Tools {
			r.Tools[i].Parameters, _ = withoutPattern(r.Tools[i].Parameters).(map[string]any)
		}
	}
	if w.keepThinking {
		r.NoThinking = false
	}
	return r
}

// headers makes the changes that concern the headers.
func (w rewrites) headers(h http.Header) {
	if !w.dropLongContext {
		return
	}
	kept := slices.DeleteFunc(h.Values(betaHeader), isLongContext)
	h.Del(betaHeader)
	for _, v := range kept {
		h.Add(betaHeader, v)
	}
}

// refusesFields reports whether a lower-case text refuses the fields that chat servers want reasoning back in.
func refusesFields(msg string) bool {
	return hasAny(msg, reasoningFields) && hasAny(msg, refusedField)
}

func isLongContext(beta string) bool { return strings.HasPrefix(strings.TrimSpace(beta), "context-1m") }

// grammarKeys are the schema keywords that become grammars.
var grammarKeys = []string{"pattern", "format"}

// hasPattern reports whether a schema has a keyword that withoutPattern takes out.
func hasPattern(v any) bool {
	found := false
	walkSchema(v, func(map[string]any, string) { found = true })
	return found
}

// withoutPattern copies a schema without the keywords; a property that happens to have such a name stays.
func withoutPattern(v any) any {
	c := cloneJSON(v)
	walkSchema(c, func(m map[string]any, key string) { delete(m, key) })
	return c
}

// walkSchema calls f for each of grammarKeys in a schema and its subschemas. Below properties the keys are names of a
// person's making, not keywords.
func walkSchema(v any, f func(m map[string]any, key string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range grammarKeys {
			if _, isText := v[key].(string); isText {
				f(v, key)
			}
		}
		for key, sub := range v {
			props, ok := sub.(map[string]any)
			if ok && slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, key) {
				for _, s := range props {
					walkSchema(s, f)
				}
				continue
			}
			if key != "enum" && key != "const" && key != "default" && key != "examples" {
				walkSchema(sub, f)
			}
		}
	case []any:
		for _, s := range v {
			walkSchema(s, f)
		}
	}
}

func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneJSON(e)
		}
		return out
	}
	return v
}

// tooManyTokens is how the messages API refuses a bound: "max_tokens: 16384 > 8192, which is the maximum allowed …".
var tooManyTokens = regexp.MustCompile(`max_tokens: \d+ > (\d+), which is the maximum`)

func allowedMaxTokens(message string) int64 {
	m := tooManyTokens.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// learned keeps what rewrites showed about a server and its model, so that later requests do not fail first. What
// concerns one conversation (dropNative) or one wish (keepThinking) is not kept.
type learned struct {
	mu    sync.Mutex
	model string
	known rewrites
}

func (l *learned) get(model string) rewrites {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.model != model {
		return rewrites{}
	}
	return l.known
}

func (l *learned) set(model string, w rewrites) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model = model
	l.known = rewrites{dropFields: w.dropFields, plainSchemas: w.plainSchemas, dropLongContext: w.dropLongContext, maxTokens: w.maxTokens}
}
