package markdown

import (
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table lays a table out; one that is wider than there is room for gets cells of several lines.
func (l layout) table(n *extast.Table, width int) []string {
	border := lipgloss.NormalBorder()
	if l.theme.ASCII {
		border = lipgloss.ASCIIBorder()
	}
	t := table.New().Border(border).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		StyleFunc(func(_, column int) lipgloss.Style {
			s := lipgloss.NewStyle().Padding(0, 1)
			if column < len(n.Alignments) {
				switch n.Alignments[column] {
				case extast.AlignRight:
					s = s.Align(lipgloss.Right)
				case extast.AlignCenter:
					s = s.Align(lipgloss.Center)
				}
			}
			return s
		})
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		base := ""
		if _, head := row.(*extast.TableHeader); head {
			base = l.theme.Strong
		}
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, l.inline(cell, base))
		}
		if base != "" || row == n.FirstChild() {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
	}
	out := t.String()
	if lipgloss.Width(out) > width {
		out = t.Width(width).String()
	}
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Truncate(line, width, ""), " ")
	}
	return lines
}
