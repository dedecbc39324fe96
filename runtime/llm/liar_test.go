package llm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

// says makes a stream of events of which each is one delta, and ends it properly.
func says(finish string, deltas ...string) fakemodel.Turn {
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	return fakemodel.Turn{Fault: fakemodel.Fault{Status: 200, ContentType: "text/event-stream", Body: b.String()}}
}

func answer(t *testing.T, turn fakemodel.Turn) (llm.Response, error) {
	t.Helper()
	s := server(t)
	s.Script(turn)
	return client(t, s.URL(), llm.Options{Keys: llm.StaticKeys("k-1234")}).Stream(context.Background(), ask("hi"), nil)
}

// TestCallIndexIsOnlyAName: an index below zero or beyond any list names a call like any other. It is the server's, so
// nothing may be looked up by it unchecked.
func TestCallIndexIsOnlyAName(t *testing.T) {
	var deltas []string
	for _, index := range []string{"-1", "9223372036854775807", "-9223372036854775808"} {
		deltas = append(deltas, fmt.Sprintf(`{"tool_calls":[{"index":%s,"function":{"name":"list_dir","arguments":"{}"}}]}`, index))
	}
	got, err := answer(t, says("tool_calls", deltas...))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Message.ToolCalls) != len(deltas) {
		t.Errorf("calls: %+v", got.Message.ToolCalls)
	}
}

// TestTooManyCallsAreNoAnswer: a server that calls tools without end is stopped while it does.
func TestTooManyCallsAreNoAnswer(t *testing.T) {
	call := func(i int) string {
		return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"list_dir","arguments":"{}"}}]}`, i, i)
	}
	var deltas []string
	for i := range 512 {
		deltas = append(deltas, call(i))
	}
	got, err := answer(t, says("tool_calls", deltas...))
	if err != nil || len(got.Message.ToolCalls) != 512 {
		t.Fatalf("512 calls: %d, %v", len(got.Message.ToolCalls), err)
	}
	_, err = answer(t, says("tool_calls", append(deltas, call(512))...))
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != llm.CodeResponseTooLarge || !strings.Contains(e.Message, "more than 512 tools") {
		t.Errorf("513 calls: %v", err)
	}
}

// TestAnswersWithoutEndAreNotPaidForTwice: too many calls, endless thought and an endless event fail the call at the
// first attempt, with what to do.
func TestAnswersWithoutEndAreNotPaidForTwice(t *testing.T) {
	calls := make([]fakemodel.ToolCall, 513)
	for i := range calls {
		calls[i] = fakemodel.ToolCall{ID: fmt.Sprintf("c%d", i), Name: "list_dir", Arguments: "{}"}
	}
	for name, turn := range map[string]fakemodel.Turn{
		"calls":    fakemodel.Calls(calls...),
		"thoughts": {Reasoning: strings.Repeat("hmm ", 9<<20), ChunkSize: 1 << 20},
		"event":    {Fault: fakemodel.Fault{HugeBody: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			s.Respond(func(fakemodel.Request) fakemodel.Turn { return turn })
			policy := llm.Policy{MaxRetries: 3, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond}
			_, err := client(t, s.URL(), llm.Options{Keys: llm.StaticKeys("k"), Policy: policy}).Stream(context.Background(), ask("hi"), nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Code != llm.CodeResponseTooLarge || e.RepeatHelps() || !strings.Contains(e.Message, "ask for less") {
				t.Errorf("got %v", err)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestCountersAreNotBelieved: whatever stands in usage, the answer is taken and the counters can be added up (M9).
func TestCountersAreNotBelieved(t *testing.T) {
	const most = 1 << 40
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":7,"completion_tokens":3}`:                                                        {Input: 7, Output: 3},
		`{"prompt_tokens":-5,"completion_tokens":-9223372036854775808}`:                                    {},
		`{"prompt_tokens":9223372036854775807,"completion_tokens":1e300}`:                                  {Input: most, Output: most},
		`{"prompt_tokens":1e999,"completion_tokens":"7"}`:                                                  {Input: most, Output: 7},
		`{"prompt_tokens":"many","completion_tokens":{},"prompt_tokens_details":{"cached_tokens":null}}`:   {},
		`{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9223372036854775807}}`:                {CacheRead: most},
		`{"prompt_tokens":12.0,"prompt_tokens_details":{"cached_tokens":4},"prompt_cache_hit_tokens":[4]}`: {Input: 8, CacheRead: 4},
	} {
		t.Run(usage, func(t *testing.T) {
			turn := says("stop", `{"content":"hi"}`)
			turn.Fault.Body = `data: {"usage":` + usage + `,"choices":[]}` + "\n\n" + turn.Fault.Body
			got, err := answer(t, turn)
			if err != nil || got.Message.Content != "hi" || got.Usage != want {
				t.Errorf("%q %+v %v, want %+v", got.Message.Content, got.Usage, err, want)
			}
		})
	}
}
