package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// DemoModel is the name the demo answers under.
const DemoModel = "demo-script"

// demoNotice opens the first reply of a conversation: nobody must take the script for a model.
const demoNotice = "I am a scripted demo, not a language model: my answers are fixed. "

const demoHelp = `Try "list files", "read file NAME", "write file NAME TEXT" or "run COMMAND" to see the tool loop, ` +
	"or give this profile a real model."

// Demo is an offline model that follows a script. It is deterministic and needs no network and no key. It asks for
// tools that the request offers, so that the whole loop can be seen at work.
type Demo struct{}

var _ Model = Demo{}

// Stream implements Model.
func (Demo) Stream(ctx context.Context, r Request, emit func(Delta)) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, context.Cause(ctx)
	}
	if emit == nil {
		emit = func(Delta) {}
	}
	m := demoReply(r)
	for _, piece := range strings.SplitAfter(m.Content, " ") {
		if ctx.Err() != nil {
			return Response{}, context.Cause(ctx)
		}
		if piece != "" {
			emit(Delta{Text: piece})
		}
	}
	finish := FinishStop
	for i := range m.ToolCalls {
		finish = FinishToolCalls
		emit(Delta{ToolCall: &ToolCall{ID: m.ToolCalls[i].ID, Name: m.ToolCalls[i].Name}})
	}
	var u Usage
	for _, in := range r.Messages {
		u.Input += EstimateTokens(in.Content)
	}
	u.Output = EstimateTokens(m.Content)
	for _, c := range m.ToolCalls {
		u.Output += EstimateTokens(c.Name + c.Arguments)
	}
	return Response{Message: m, FinishReason: finish, Usage: u, Model: DemoModel}, nil
}

// demoReply decides the answer from the conversation alone.
func demoReply(r Request) Message {
	first := true
	var user string
	var results []string
	for _, m := range r.Messages {
		switch m.Role {
		case RoleUser:
			user, results = strings.TrimSpace(m.Content), nil
		case RoleTool:
			results = append(results, m.Content)
		case RoleAssistant:
			first = first && m.Content == ""
		}
	}
	out := Message{Role: RoleAssistant}
	switch call, why := demoCall(user, r); {
	case len(results) > 0:
		out.Content = "Done. The tool returned:\n\n" + clip(strings.Join(results, "\n"), 4000)
	case call != nil:
		out.ToolCalls = []ToolCall{*call}
		return out
	case why != "":
		out.Content = why
	case user == "":
		out.Content = demoHelp
	default:
		out.Content = fmt.Sprintf("You said: %q. %s", clip(user, 500), demoHelp)
	}
	if first {
		out.Content = demoNotice + out.Content
	}
	return out
}

// demoCall turns a request the script knows into a tool call, or says why it cannot.
func demoCall(user string, r Request) (*ToolCall, string) {
	words := strings.Fields(user)
	if len(words) < 2 {
		return nil, ""
	}
	var tool string
	args := map[string]any{}
	switch verb := strings.ToLower(words[0]); {
	case verb == "run":
		tool = "terminal"
		args["command"] = strings.TrimSpace(user[len(words[0]):])
	case verb == "list" && strings.EqualFold(words[1], "files"):
		tool = "list_dir"
		args["path"] = "."
	case verb == "read" && strings.EqualFold(words[1], "file") && len(words) == 3:
		tool = "read_file"
		args["path"] = words[2]
	case verb == "write" && strings.EqualFold(words[1], "file") && len(words) > 3:
		tool = "write_file"
		args["path"], args["content"] = words[2], strings.Join(words[3:], " ")
	default:
		return nil, ""
	}
	for _, d := range r.Tools {
		if d.Name == tool {
			b, _ := json.Marshal(args)
			return &ToolCall{ID: fmt.Sprintf("call_demo_%d", len(r.Messages)), Name: tool, Arguments: string(b)}, ""
		}
	}
	return nil, fmt.Sprintf("That needs the tool %q, which this profile does not have.", tool)
}
