package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

// TestLiesOfAMessagesServer fail its own answer and nothing else.
func TestLiesOfAMessagesServer(t *testing.T) {
	event := func(s string) fakemodel.Turn {
		return fakemodel.Turn{Fault: fakemodel.Fault{Status: 200, ContentType: "text/event-stream", Body: "data: " + s + "\n\ndata: {\"type\":\"message_stop\"}\n\n"}}
	}
	for name, c := range map[string]struct {
		turn fakemodel.Turn
		code string
	}{
		"wrong index":          {fakemodel.Turn{Text: "hello", Fault: fakemodel.Fault{WrongIndex: true}}, llm.CodeStreamMalformed},
		"no stop at all":       {fakemodel.Turn{Text: "hello", Fault: fakemodel.Fault{NoFinish: true}}, llm.CodeStreamTruncated},
		"garbage":              {fakemodel.Turn{Text: "hello", Fault: fakemodel.Fault{Malformed: true}}, llm.CodeStreamMalformed},
		"a block that is none": {event(`{"type":"content_block_start","index":0,"content_block":7}`), llm.CodeStreamMalformed},
		"an end and nothing":   {event(`{"type":"ping"}`), llm.CodeEmptyResponse},
		"a bare error":         {event(`{"type":"error"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			s.Script(c.turn)
			got, err := client(t, s.MessagesURL(), llm.Options{}).Stream(context.Background(), ask("hi"), nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Code != c.code || got.Message.Content != "" {
				t.Fatalf("%+v %v", got, err)
			}
		})
	}
}

// TestPausedAnswerIsContinued: pause_turn is not an end; the answer goes back as it is and is joined with what follows.
func TestPausedAnswerIsContinued(t *testing.T) {
	s := server(t)
	search := json.RawMessage(`{"id":"s1","input":{"q":"x"},"name":"web_search","type":"server_tool_use"}`)
	s.Script(
		fakemodel.Turn{Text: "I search. ", Native: []json.RawMessage{search}, FinishReason: "pause_turn", Usage: fakemodel.Usage{Prompt: 10, Completion: 1}},
		fakemodel.Turn{Text: "Found.", Usage: fakemodel.Usage{Prompt: 20, Completion: 2}})
	got, err := client(t, s.MessagesURL(), llm.Options{}).Stream(context.Background(), ask("hi"), nil)
	if err != nil || got.Message.Content != "I search. Found." || got.FinishReason != llm.FinishStop || got.Usage != (llm.Usage{Input: 30, Output: 3}) {
		t.Fatalf("%+v %v", got, err)
	}
	if second := string(s.Requests()[1].Body); !strings.Contains(second, `"role":"assistant","content":[`+string(search)) {
		t.Fatalf("the paused answer went back as %s", second)
	}
	t.Run("not for ever", func(t *testing.T) {
		s := server(t)
		s.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Turn{Text: "x", FinishReason: "pause_turn"} })
		_, err := client(t, s.MessagesURL(), llm.Options{}).Stream(context.Background(), ask("hi"), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Reason != llm.ReasonIncomplete {
			t.Fatal(err)
		}
	})
}

var marker = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// TestRequestsGrow: whatever is sent and marked, the messages of a request begin with the bytes of those before it, in
// both dialects and on routes with and without markers.
func TestRequestsGrow(t *testing.T) {
	for name, base := range map[string]func(*fakemodel.Server) string{"chat": (*fakemodel.Server).URL, "messages": (*fakemodel.Server).MessagesURL} {
		for _, provider := range []string{llm.ProviderCustom, "openrouter", llm.ProviderAnthropic} {
			if name == "chat" && provider == llm.ProviderAnthropic {
				continue
			}
			t.Run(name+" "+provider, func(t *testing.T) {
				s := server(t)
				rt, err := llm.NewRoute(provider, base(s))
				if err != nil {
					t.Fatal(err)
				}
				c, err := llm.NewClient(llm.Options{Route: rt, Keys: llm.StaticKeys("k"), Policy: once, Timeouts: patient})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				r := llm.Request{
					Model: "anthropic/claude-x", StaticPrefix: "who I am\n", Messages: []llm.Message{{Role: llm.RoleSystem, Content: "who I am\nand where"}},
					Tools: []llm.ToolDefinition{{Name: "list_dir", Parameters: map[string]any{"type": "object"}}},
				}
				for i, text := range []string{"hi", "<and> é", "third", "fourth"} {
					r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Content: text})
					for _, turn := range []fakemodel.Turn{
						{Text: "look", Reasoning: "hm", Signature: "S", ToolCalls: []fakemodel.ToolCall{{ID: "a" + text, Name: "list_dir", Arguments: "{}"}, {ID: "b", Name: "list_dir", Arguments: `{"a":1}`}}},
						{Text: strings.Repeat("done ", i+1)},
					} {
						s.Script(turn)
						got, err := c.Stream(context.Background(), r, nil)
						if err != nil {
							t.Fatal(err)
						}
						r.Messages = append(r.Messages, got.Message)
						for _, call := range got.Message.ToolCalls {
							r.Messages = append(r.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Content: "result of " + call.ID})
						}
					}
				}
				var before []byte
				for i, req := range s.Requests() {
					if n := bytes.Count(req.Body, []byte(`"cache_control"`)); n > 4 || (provider != llm.ProviderCustom || name == "messages") && n < 3 || name == "chat" && provider == llm.ProviderCustom && n != 0 {
						t.Errorf("S-423 request %d has %d markers", i, n)
					}
					body := marker.ReplaceAll(req.Body, nil)
					if !bytes.HasPrefix(body, before) {
						t.Fatalf("request %d:\n%s\ndoes not start with\n%s", i, body, before)
					}
					before = bytes.TrimRight(body, "]}")
				}
			})
		}
	}
}

// TestOneShotRecoveries: each refusal is cured once, at once, without counting as an attempt; a second one is an error.
func TestOneShotRecoveries(t *testing.T) {
	refuse := func(message string) fakemodel.Turn {
		return fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Type: "invalid_request_error", Message: message}}
	}
	pattern := map[string]any{"type": "object", "properties": map[string]any{"pattern": map[string]any{"type": "string", "pattern": "^a$", "format": "uri"}}}
	for _, c := range []struct {
		reason  llm.Reason
		message string
		header  http.Header
		// has is in the first body, or the header, and not in the second.
		has string
		// keeps is in both.
		keeps string
	}{
		{llm.ReasonThinkingSignature, "messages.1.content.0: Invalid `signature` in `thinking` block", nil, `SIGNED`, `"hello"`},
		{llm.ReasonEncryptedContent, "the encrypted content could not be verified: invalid_encrypted_content", nil, `SIGNED`, `"hello"`},
		{llm.ReasonReasoningMandatory, "Reasoning is mandatory for this endpoint and cannot be disabled.", nil, `"disabled"`, `"hello"`},
		{llm.ReasonGrammarPattern, "failed to parse grammar", nil, `"^a$"`, `"type":"string"`},
		{llm.ReasonLongContextBeta, "The long context beta is not yet available for this subscription.", http.Header{"Anthropic-Beta": {"context-1m-2025-08-07", "other"}}, "context-1m", "other"},
		{llm.ReasonFormat, "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens", nil, `"max_tokens":16384`, `"hello"`},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			s := server(t)
			cl := client(t, s.MessagesURL(), llm.Options{Headers: c.header})
			s.Script(fakemodel.Turn{Text: "hello", Reasoning: "hm", Signature: "SIGNED"})
			first, err := cl.Stream(context.Background(), ask("hi"), nil)
			if err != nil {
				t.Fatal(err)
			}
			r := ask("hi")
			r.NoThinking, r.Tools = true, []llm.ToolDefinition{{Name: "t", Parameters: pattern}}
			r.Messages = append(r.Messages, first.Message, llm.Message{Role: llm.RoleUser, Content: "go on"})
			s.Script(refuse(c.message), fakemodel.Text("cured"))
			var rec record
			got, err := cl.Stream(context.Background(), r, rec.emit)
			if err != nil || got.Message.Content != "cured" || len(rec.retries) != 1 || rec.retries[0].Err.Reason != c.reason || rec.retries[0].Wait != 0 {
				t.Fatalf("%+v %v %+v", got, err, rec.retries)
			}
			text := func(i int) string {
				q := s.Requests()[i]
				return string(q.Body) + strings.Join(q.Header.Values("Anthropic-Beta"), " ")
			}
			if !strings.Contains(text(1), c.has) || strings.Contains(text(2), c.has) || !strings.Contains(text(1), c.keeps) || !strings.Contains(text(2), c.keeps) {
				t.Errorf("sent\n%s\nthen\n%s", text(1), text(2))
			}
			if pattern["properties"].(map[string]any)["pattern"].(map[string]any)["pattern"] != "^a$" || len(r.Messages[2].Native) == 0 {
				t.Error("the caller's request was changed")
			}
			s.Script(refuse(c.message), refuse(c.message))
			_, err = cl.Stream(context.Background(), r, nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Reason != c.reason {
				t.Errorf("the second refusal: %v", err)
			}
		})
	}
}

// TestRefusedFieldsAreLearned: a server that sends reasoning_content and refuses to get it back is asked once.
func TestRefusedFieldsAreLearned(t *testing.T) {
	s := server(t)
	cl := client(t, s.URL(), llm.Options{})
	s.Script(fakemodel.Turn{Text: "hello", Reasoning: "hm"})
	r := ask("hi")
	first, err := cl.Stream(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, first.Message, llm.Message{Role: llm.RoleUser, Content: "go on"})
	s.Script(fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Message: "Extra inputs are not permitted: reasoning_content"}}, fakemodel.Text("ok"), fakemodel.Text("ok"))
	for range 2 {
		if _, err := cl.Stream(context.Background(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, false, false} {
		if got := strings.Contains(string(s.Requests()[i].Body), `"reasoning_content":"hm"`); got != want {
			t.Errorf("request %d carries it: %v", i, got)
		}
	}
}
