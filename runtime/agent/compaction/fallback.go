package compaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// Fallback is a summary written without a model: what the agent said, what it called and what it touched, the newest
// in more detail. It is for when no model answers: the person can go on, and knows what is missing.
func (p Plan) Fallback() string {
	room := int(p.SummaryTokens()) * 3 // characters, so that dense scripts fit as well
	var b strings.Builder
	b.WriteString("No model was at hand to write this summary: it lists what happened, oldest first.\n")
	if earlier := bodies(p.Replace); earlier != "" {
		b.WriteString("\n## Before\n")
		b.WriteString(middle(earlier, room/3))
		b.WriteString("\n")
	}
	if touched := touchedBy(p.Replace); len(touched) > 0 {
		b.WriteString("\n## Files touched\n")
		b.WriteString(middle(strings.Join(touched, "\n"), room/6))
		b.WriteString("\n")
	}
	b.WriteString("\n## What happened\n")
	b.WriteString(strings.Join(newest(eventsOf(p.Replace), room/2), "\n"))
	return b.String()
}

// newest keeps the last lines that fit into n characters.
func newest(lines []string, n int) []string {
	total := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if total += len(lines[i]) + 1; total > n && i < len(lines)-1 {
			return append([]string{fmt.Sprintf("- (%d earlier steps are left out)", i+1)}, lines[i+1:]...)
		}
	}
	return lines
}

func eventsOf(rows []store.Message) []string {
	var out []string
	for _, r := range rows {
		switch {
		case r.CompressedSummary:
		case isReply(r):
			out = append(out, "- replied: "+oneLine(middle(r.Content, 300)))
		case r.Role == llm.RoleTool && strings.HasPrefix(r.Content, `{"error"`):
			out = append(out, "- "+oneWord(nameOf(r))+" failed: "+oneLine(middle(r.Content, 160)))
		}
		for _, c := range callsOf(r) {
			out = append(out, "- called "+oneWord(c.Function.Name)+" "+oneLine(middle(c.Function.Arguments, 120)))
		}
	}
	return out
}

// touchedBy lists the paths that calls named, in the order of their first use.
func touchedBy(rows []store.Message) []string {
	var out []string
	for _, r := range rows {
		for _, c := range callsOf(r) {
			var args map[string]any
			if json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
				continue
			}
			for _, key := range []string{"path", "file", "file_path", "filename"} {
				if path, ok := args[key].(string); ok && path != "" {
					if line := "- " + oneLine(middle(path, 200)); !slices.Contains(out, line) {
						out = append(out, line)
					}
				}
			}
		}
	}
	return out
}
