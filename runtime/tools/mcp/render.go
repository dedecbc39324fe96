package mcp

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.dev/hermes/runtime/tools"
)

// render is a result as text for the model. What is no text is kept in a file, which the text names.
func render(set *tools.Set, content []sdk.Content, structured any) string {
	var parts []string
	texts := 0
	for _, c := range content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
			texts++
		case *sdk.ImageContent:
			parts = append(parts, file(set, "image", c.MIMEType, c.Data))
		case *sdk.AudioContent:
			parts = append(parts, file(set, "sound", c.MIMEType, c.Data))
		case *sdk.ResourceLink:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("[resource %s %s %s]", c.URI, c.Name, c.Description)))
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				parts = append(parts, resource(set, c.Resource))
			}
		default:
			parts = append(parts, fmt.Sprintf("[a part of kind %T, which cannot be shown]", c))
		}
	}
	if structured != nil && texts == 0 {
		if raw, err := json.Marshal(structured); err == nil {
			parts = append(parts, string(raw))
		}
	}
	if len(parts) == 0 {
		return "[no content]"
	}
	return set.Bounded(strings.Join(parts, "\n"))
}

func resource(set *tools.Set, r *sdk.ResourceContents) string {
	if len(r.Blob) > 0 {
		return "[resource " + r.URI + "]\n" + file(set, "file", r.MIMEType, r.Blob)
	}
	return "[resource " + r.URI + "]\n" + r.Text
}

// file keeps what is no text and says where.
func file(set *tools.Set, kind, mimeType string, data []byte) string {
	extension := ".bin"
	if known, err := mime.ExtensionsByType(mimeType); err == nil && len(known) > 0 {
		extension = known[0]
	}
	path, err := set.Keep(extension, data)
	if err != nil {
		return fmt.Sprintf("[%s %s of %d bytes, which could not be kept: %v]", kind, mimeType, len(data), err)
	}
	return fmt.Sprintf("[%s %s of %d bytes: %s]", kind, mimeType, len(data), path)
}
