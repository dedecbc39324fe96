package screen

import (
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
)

// suggested is the commands that what was typed may become.
func suggested(text string) []chat.Command {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return nil
	}
	var out []chat.Command
	for _, c := range chat.Commands() {
		if strings.HasPrefix(c.Name, text) {
			out = append(out, c)
		}
	}
	return out
}

// complete adds what all suggestions have in common, and the space before an argument when only one is left.
func complete(text string) string {
	found := suggested(text)
	if len(found) == 0 {
		return text
	}
	common := found[0].Name
	for _, c := range found[1:] {
		for !strings.HasPrefix(c.Name, common) {
			common = common[:len(common)-1]
		}
	}
	if len(found) == 1 && found[0].Argument != "" {
		common += " "
	}
	return common
}

// maxSuggested is how many are shown.
const maxSuggested = 6

func (m *model) suggestions() []string {
	found := suggested(m.input.Value())
	var out []string
	for i, c := range found {
		if i == maxSuggested && len(found) > maxSuggested+1 {
			out = append(out, m.look.style(dim, m.look.own("  …")))
			break
		}
		name := strings.TrimSpace(c.Name + " " + c.Argument)
		out = append(out, m.look.style(dim, m.look.own("  "+name+strings.Repeat(" ", max(1, 20-len(name)))+c.Help)))
	}
	return out
}
