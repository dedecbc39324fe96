package tools

import "strings"

// object, text and integer write the schemas of the built-in tools.
func object(properties map[string]any, required ...string) map[string]any {
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		list := make([]any, len(required))
		for i, r := range required {
			list[i] = r
		}
		s["required"] = list
	}
	return s
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "minLength": 1, "description": description}
}

func integer(description string, least, most int) map[string]any {
	return map[string]any{"type": "integer", "minimum": least, "maximum": most, "description": description}
}

// oneLine makes text safe for a one-line summary: control characters cannot
// hide what a person is asked to approve.
func oneLine(s string) string { return clip(flat(s), 300) }

// flat is oneLine without the limit.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '⏎'
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// anyText is a string that may be empty.
func anyText(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func boolean(description string) map[string]any {
	return map[string]any{"type": "boolean", "description": description}
}

func oneOf(description string, values ...string) map[string]any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return map[string]any{"type": "string", "enum": list, "description": description}
}
