package markdown

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minWidth is the narrowest column of text; what is nested deeper overlaps the margin instead.
const minWidth = 10

// layout is one text being laid out.
type layout struct {
	theme  Theme
	source []byte
}

// Lines lays a text out in lines of at most width columns. Blocks are apart by an empty line; there is none at either end.
func Lines(source string, width int, theme Theme) []string {
	l := layout{theme: theme, source: []byte(source)}
	return l.blocks(parse(l.source), max(width, minWidth), true)
}

// blocks lays the children of a node out.
func (l layout) blocks(parent ast.Node, width int, apart bool) []string {
	var out []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := l.block(n, width)
		if apart && len(out) > 0 && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (l layout) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return l.prefixed(strings.Repeat("#", n.Level)+" ", l.theme.Heading, width, func(w int) []string {
			return Wrap(l.inline(n, l.theme.Heading), w)
		})
	case *ast.Blockquote:
		mark := l.theme.pick("│ ", "| ")
		lines := l.blocks(n, max(width-2, minWidth), true)
		for i := range lines {
			lines[i] = style(l.theme.Quote, mark) + lines[i]
		}
		return lines
	case *ast.List:
		return l.list(n, width)
	case *ast.ThematicBreak:
		return []string{style(l.theme.Quote, strings.Repeat(l.theme.pick("─", "-"), min(width, 40)))}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return l.code(n, width)
	case *ast.HTMLBlock:
		text := string(n.Lines().Value(l.source))
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(l.source))
		}
		return Wrap(strings.TrimRight(plain(text), "\n"), width)
	case *extast.Table:
		return l.table(n, width)
	case *ast.Paragraph, *ast.TextBlock:
		return Wrap(l.inline(n, ""), width)
	}
	return l.blocks(n, width, true)
}

// prefixed puts a mark before the first line and room as wide before the others.
func (l layout) prefixed(mark, sgr string, width int, body func(width int) []string) []string {
	room := ansi.StringWidth(mark)
	lines := body(max(width-room, minWidth))
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = strings.TrimRight(style(sgr, mark)+lines[i], " ")
		case lines[i] != "":
			lines[i] = strings.Repeat(" ", room) + lines[i]
		}
	}
	return lines
}

func (l layout) list(n *ast.List, width int) []string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := l.theme.pick("• ", "* ")
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if !n.IsTight && len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, l.prefixed(mark, l.theme.Marker, width, func(w int) []string { return l.blocks(item, w, !n.IsTight) })...)
	}
	return out
}

// code is shown as it is, moved in by two columns; only what is wider than the terminal is broken.
func (l layout) code(n ast.Node, width int) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(plain(string(n.Lines().Value(l.source))), "\n"), "\n") {
		for _, piece := range strings.Split(ansi.Hardwrap(line, max(width-2, minWidth), true), "\n") {
			out = append(out, strings.TrimRight("  "+style(l.theme.Code, piece), " "))
		}
	}
	return out
}

// Wrap breaks text between words, and words that are too long anywhere. Styles that are open at the end of a line are
// closed there and opened again in the next.
func Wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	// Once more at the width, because Wrap lets a hyphen stand out.
	lines := strings.Split(ansi.Hardwrap(ansi.Wrap(text, width, ""), width, true), "\n")
	open := ""
	for i, line := range lines {
		line = open + line
		if open = openStyle(line); open != "" {
			line += "\x1b[m"
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// openStyle is the sequence that is in force at the end of a line.
func openStyle(line string) string {
	i := strings.LastIndex(line, "\x1b[")
	if i < 0 {
		return ""
	}
	sequence, _, _ := strings.Cut(line[i:], "m")
	if sequence += "m"; sequence == "\x1b[m" {
		return ""
	}
	return sequence
}
