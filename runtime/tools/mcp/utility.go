package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.dev/hermes/runtime/tools"
)

// maxListed bounds how many resources or prompts one list names.
const maxListed = 500

// addUtilities adds tools to read a server's resources and prompts, if it has any and the declaration wants them. A
// tool of the server's own that has the name stays.
//
// Implements T16.
func (o *offer) addUtilities(serverWord string, caps *sdk.ServerCapabilities) {
	var list []item
	if caps.Resources != nil && o.settings.Resources {
		list = append(list,
			utility("list_resources", "List what can be read with read_resource of this server.", nil, nil, listResources),
			utility("read_resource", "Read a resource of this server.", map[string]any{"uri": map[string]any{"type": "string", "description": "The URI, as list_resources names it."}}, []any{"uri"}, readResource))
	}
	if caps.Prompts != nil && o.settings.Prompts {
		list = append(list,
			utility("list_prompts", "List the prompts that this server has prepared.", nil, nil, listPrompts),
			utility("get_prompt", "Read a prompt that this server has prepared.", map[string]any{
				"name":      map[string]any{"type": "string", "description": "The name, as list_prompts gives it."},
				"arguments": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
			}, []any{"name"}, getPrompt))
	}
	for _, u := range list {
		u.Name = toolName(serverWord, u.Name)
		if !slices.ContainsFunc(o.tools, func(t item) bool { return t.Name == u.Name }) {
			o.tools = append(o.tools, u)
		}
	}
}

// ask is one exchange of a utility tool; its text goes to the model.
type ask func(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (string, error)

func utility(name, description string, properties map[string]any, required []any, run ask) item {
	parameters := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if properties == nil {
		parameters["properties"] = map[string]any{}
	}
	if required != nil {
		parameters["required"] = required
	}
	return item{
		Definition: tools.Definition{Name: name, Description: description, Parameters: parameters},
		readOnly:   true,
		run: func(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (tools.Result, error) {
			text, err := run(ctx, set, l, args)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Content: text}, nil
		},
	}
}

func listResources(ctx context.Context, set *tools.Set, l *link, _ json.RawMessage) (string, error) {
	var lines []string
	for r, err := range l.session.Resources(ctx, nil) {
		if err != nil {
			return "", err
		}
		if lines = append(lines, line(r.URI, r.Name, r.MIMEType, r.Description)); len(lines) == maxListed {
			break
		}
	}
	// Templates came later than resources: a server that does not know them has none.
	for t, err := range l.session.ResourceTemplates(ctx, nil) {
		if err != nil || len(lines) >= maxListed {
			break
		}
		lines = append(lines, line(t.URITemplate, t.Name, t.MIMEType, t.Description))
	}
	return listed(set, lines), nil
}

func readResource(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (string, error) {
	var a struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return "", err
	}
	res, err := l.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: a.URI})
	if err != nil {
		return "", err
	}
	var content []sdk.Content
	for _, r := range res.Contents {
		content = append(content, &sdk.EmbeddedResource{Resource: r})
	}
	return render(set, content, nil), nil
}

func listPrompts(ctx context.Context, set *tools.Set, l *link, _ json.RawMessage) (string, error) {
	var lines []string
	for p, err := range l.session.Prompts(ctx, nil) {
		if err != nil {
			return "", err
		}
		var arguments []string
		for _, a := range p.Arguments {
			name := a.Name
			if !a.Required {
				name += "?"
			}
			arguments = append(arguments, name)
		}
		if lines = append(lines, line(p.Name, "("+strings.Join(arguments, ", ")+")", p.Description)); len(lines) == maxListed {
			break
		}
	}
	return listed(set, lines), nil
}

func getPrompt(ctx context.Context, set *tools.Set, l *link, args json.RawMessage) (string, error) {
	var a struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return "", err
	}
	res, err := l.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: a.Name, Arguments: a.Arguments})
	if err != nil {
		return "", err
	}
	var content []sdk.Content
	for _, m := range res.Messages {
		content = append(content, &sdk.TextContent{Text: fmt.Sprintf("[%s]", m.Role)}, m.Content)
	}
	return render(set, content, nil), nil
}

func line(parts ...string) string {
	return oneLine(strings.Join(parts, "  "))
}

func listed(set *tools.Set, lines []string) string {
	if len(lines) == 0 {
		return "[nothing]"
	}
	if len(lines) == maxListed {
		lines = append(lines, fmt.Sprintf("[only the first %d]", maxListed))
	}
	return set.Bounded(strings.Join(lines, "\n"))
}
