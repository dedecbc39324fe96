package fakemodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.uber.org/goleak"

	"hermes.dev/hermes/test/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// independent is a client that is not ours: it holds the fake to the real protocol.
func independent(t *testing.T, key string) (*fakemodel.Server, openai.Client) {
	t.Helper()
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func params(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:         "fake-1",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

func TestStreamIsTheRealProtocol(t *testing.T) {
	s, c := independent(t, "k")
	s.Script(fakemodel.Turn{
		Text: "héllo wörld, this is streamed",
		ToolCalls: []fakemodel.ToolCall{
			{ID: "a", Name: "list_dir", Arguments: `{"path":"."}`},
			{ID: "b", Name: "read_file", Arguments: `{"path":"README.md"}`},
		},
		Usage: fakemodel.Usage{Prompt: 12, Completion: 7, Cached: 5}, Fault: fakemodel.Fault{ByteByByte: true},
	})
	st := c.Chat.Completions.NewStreaming(context.Background(), params("hi"))
	defer st.Close()
	var acc openai.ChatCompletionAccumulator
	for st.Next() {
		if !acc.AddChunk(st.Current()) {
			t.Fatalf("the accumulator refused a chunk: %s", st.Current().RawJSON())
		}
	}
	if err := st.Err(); err != nil {
		t.Fatal(err)
	}
	m := acc.Choices[0].Message
	if m.Content != "héllo wörld, this is streamed" || len(m.ToolCalls) != 2 || m.ToolCalls[1].Function.Arguments != `{"path":"README.md"}` {
		t.Fatalf("got %+v", m)
	}
	if acc.Usage.PromptTokens != 12 || acc.Usage.PromptTokensDetails.CachedTokens != 5 {
		t.Fatalf("usage %+v", acc.Usage)
	}
	if r := s.Requests(); len(r) != 1 || r[0].Key != "k" || !r[0].Parsed.Stream {
		t.Fatalf("recorded %+v", r)
	}
}

func TestWholeAnswerAndEcho(t *testing.T) {
	_, c := independent(t, "k")
	r, err := c.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model: "fake-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("ping")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Choices[0].Message.Content; got != "you said: ping" {
		t.Fatalf("got %q", got)
	}
}

func TestKeysAndErrors(t *testing.T) {
	s, c := independent(t, "old")
	s.AllowKeys("new")
	_, err := c.Chat.Completions.New(context.Background(), params("x"))
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 401 || e.Code != "invalid_api_key" {
		t.Fatalf("a key that is not allowed: %v", err)
	}
	s.AllowKeys()
	s.Script(fakemodel.RateLimit("7"))
	_, err = c.Chat.Completions.New(context.Background(), params("x"))
	if !errors.As(err, &e) || e.StatusCode != 429 || e.Response.Header.Get("Retry-After") != "7" {
		t.Fatalf("rate limit: %v", err)
	}
}

func TestTruncationCutsTheBodyThere(t *testing.T) {
	s, c := independent(t, "k")
	s.Script(fakemodel.Turn{Text: "a long enough text to be cut in the middle of it", Fault: fakemodel.Fault{TruncateAfter: 700}})
	st := c.Chat.Completions.NewStreaming(context.Background(), params("hi"))
	defer st.Close()
	var acc openai.ChatCompletionAccumulator
	for st.Next() {
		acc.AddChunk(st.Current())
	}
	if acc.Choices[0].FinishReason != "" {
		t.Fatal("the answer was not cut")
	}
}

func TestTurnsAreJSON(t *testing.T) {
	var got fakemodel.Turn
	if err := json.Unmarshal([]byte(`{"text":"x","fault":{"status":503,"retryAfter":"1"}}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Fault.Status != 503 || got.Fault.RetryAfter != "1" {
		t.Fatalf("%+v", got)
	}
}
