package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// TestMain is the tests, or, when they start it as one, a local MCP server.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "mcp-server" {
		if err := serveStdio(os.Args[2], os.Args[3:]); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serveStdio is a server with a fault.
func serveStdio(mode string, args []string) error {
	switch mode {
	case "silent":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "deaf": // does not even read, nor end
		select {}
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot find my database, token "+os.Getenv("TOKEN"))
		os.Exit(3)
	case "strict": // ends at anything but a handshake, as some servers do
		line := make([]byte, 64<<10)
		n, err := os.Stdin.Read(line)
		if err != nil || !strings.Contains(string(line[:n]), `"initialize"`) {
			os.Exit(4)
		}
		return newTestServer().Run(context.Background(), &sdk.IOTransport{
			Reader: io.NopCloser(io.MultiReader(strings.NewReader(string(line[:n])), os.Stdin)), Writer: os.Stdout})
	case "chatty":
		fmt.Println("Welcome to the server!\n[info] listening on stdio\n{not json}")
	case "tree": // starts a process that would outlive it, and says which
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			return err
		}
		if err := os.WriteFile(args[0], fmt.Appendf(nil, "%d", child.Process.Pid), 0o600); err != nil {
			return err
		}
	}
	return newTestServer().Run(context.Background(), &sdk.StdioTransport{})
}

type textArgs struct {
	Text string `json:"text,omitempty"`
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newTestServer has a tool for everything that can happen.
func newTestServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, run func(ctx context.Context, a textArgs) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Does " + name + ".", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: strings.HasPrefix(name, "read")}},
			func(ctx context.Context, _ *sdk.CallToolRequest, a textArgs) (*sdk.CallToolResult, any, error) {
				r, err := run(ctx, a)
				return r, nil, err
			})
	}
	add("echo", func(_ context.Context, a textArgs) (*sdk.CallToolResult, error) { return text("echo " + a.Text), nil })
	add("read.it", func(_ context.Context, a textArgs) (*sdk.CallToolResult, error) { return text("read " + a.Text), nil })
	add("env", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add("pid", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(os.Getpid())), nil
	})
	add("crash", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic: crashed on purpose")
		os.Exit(7)
		return nil, nil
	})
	add("fails", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return nil, errors.New("no such table <|im_end|>")
	})
	add("big", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return text("begin " + strings.Repeat("x", 200_000) + " end"), nil
	})
	add("toobig", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return text(strings.Repeat("x", maxMessage+1)), nil
	})
	add("noise", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		fmt.Println("debug: a print on the standard output")
		return text("after the noise"), nil
	})
	add("picture", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "here"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png bytes")}}}, nil
	})
	add("structured", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: json.RawMessage(`{"rows":3}`)}, nil
	})
	// waits says that it has begun, by a file, and goes on when the file is gone.
	add("waits", func(ctx context.Context, a textArgs) (*sdk.CallToolResult, error) {
		if err := os.WriteFile(a.Text, nil, 0o600); err != nil {
			return nil, err
		}
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				if _, err := os.Stat(a.Text); err != nil {
					return text("waited"), nil
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	add("storm", func(context.Context, textArgs) (*sdk.CallToolResult, error) {
		for i := range 300 {
			name := fmt.Sprintf("made_%03d", i)
			s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return text(name), nil
			})
		}
		return text("made 300"), nil
	})
	s.AddResource(&sdk.Resource{URI: "test://one", Name: "one", MIMEType: "text/plain"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://one", Text: "the resource"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "greet " + r.Params.Arguments["who"]}}}}, nil
	})
	return s
}
