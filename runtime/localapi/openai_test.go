package localapi_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"hermes.dev/hermes/test/fakemodel"
)

// TestOpenAIClient: OpenAI's own client library works against the socket.
func TestOpenAIClient(t *testing.T) {
	r := newRig(t)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	}}
	defer transport.CloseIdleConnections()
	client := openai.NewClient(option.WithBaseURL("http://gateway/v1"), option.WithAPIKey("unused"), option.WithHTTPClient(&http.Client{Transport: transport}))
	params := openai.ChatCompletionNewParams{
		Model: "alice",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("Be brief."), openai.UserMessage("one"), openai.AssistantMessage("two"), openai.UserMessage("three"),
		},
	}

	whole, err := client.Chat.Completions.New(ctx(t), params)
	must(t, err)
	if whole.Choices[0].Message.Content != "you said: three" || whole.Usage.TotalTokens == 0 || whole.Choices[0].FinishReason != "stop" {
		t.Errorf("%+v", whole)
	}

	r.model.Script(fakemodel.Calls(call("1", "list_dir", `{"path":"."}`)), fakemodel.Turn{Text: "streamed reply", ChunkSize: 3})
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx(t), params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatal("the library cannot put the chunks together")
		}
	}
	must(t, stream.Err())
	if all.Choices[0].Message.Content != "streamed reply" || all.Choices[0].FinishReason != "stop" || all.Usage.TotalTokens == 0 || all.Choices[0].Message.Role != "assistant" {
		t.Errorf("%+v", all.ChatCompletion)
	}

	models, err := client.Models.List(ctx(t))
	must(t, err)
	if len(models.Data) != 1 || models.Data[0].ID != "alice" {
		t.Errorf("%+v", models.Data)
	}

	// A failure is not sent again by the library: what was said is stored already.
	before := len(r.model.Requests())
	r.model.Script(fakemodel.Status(401))
	_, err = client.Chat.Completions.New(ctx(t), params)
	var failed *openai.Error
	if !errors.As(err, &failed) || failed.StatusCode != 502 || failed.Code != "credential_refused" {
		t.Errorf("%v", err)
	}
	if n := len(r.model.Requests()) - before; n != 1 {
		t.Errorf("%d requests for one failure", n)
	}
	params.Model = "nobody"
	if _, err := client.Chat.Completions.New(ctx(t), params); !errors.As(err, &failed) || failed.StatusCode != 404 {
		t.Errorf("%v", err)
	}
}
