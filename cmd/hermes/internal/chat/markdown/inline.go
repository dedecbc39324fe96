package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// inline collects the text of a block.
type inline struct {
	theme  Theme
	source []byte
	out    strings.Builder
	styles []string
}

// text of a block in one string, with line ends where it has them.
func (l layout) inline(block ast.Node, base string) string {
	in := inline{theme: l.theme, source: l.source}
	in.push(base)
	in.children(block)
	return in.out.String()
}

func (in *inline) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		in.node(c)
	}
}

func (in *inline) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		in.text(n)
	case *ast.String:
		in.write(resolved(n.Value))
	case *ast.CodeSpan:
		in.push(in.theme.Code)
		in.write(strings.ReplaceAll(string(raw(n, in.source)), "\n", " "))
		in.pop()
	case *ast.Emphasis:
		if n.Level == 2 {
			in.within(in.theme.Strong, n)
		} else {
			in.within(in.theme.Emphasis, n)
		}
	case *extast.Strikethrough:
		if in.theme.Strike == "" {
			in.write("~~")
			defer in.write("~~")
		}
		in.within(in.theme.Strike, n)
	case *extast.TaskCheckBox:
		if n.IsChecked {
			in.write("[x] ")
		} else {
			in.write("[ ] ")
		}
	case *ast.AutoLink:
		in.push(in.theme.Link)
		in.write(string(n.Label(in.source)))
		in.pop()
	case *ast.Link:
		in.link(n, n.Destination)
	case *ast.Image:
		in.link(n, n.Destination)
	case *ast.RawHTML:
		in.write(string(n.Segments.Value(in.source)))
	default:
		in.children(n)
	}
}

func (in *inline) text(n *ast.Text) {
	if value := n.Segment.Value(in.source); n.IsRaw() {
		in.write(string(value))
	} else {
		in.write(resolved(value))
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		in.out.WriteByte('\n') // models mean the line ends they write
	}
}

// link shows where a link leads; a text that says it already is enough.
func (in *inline) link(n ast.Node, destination []byte) {
	before := in.out.Len()
	in.within(in.theme.Link, n)
	to := resolved(destination)
	if strings.Contains(in.out.String()[before:], safetext.Visible(to)) {
		return
	}
	in.write(" (" + to + ")")
}

func (in *inline) within(sgr string, n ast.Node) {
	in.push(sgr)
	in.children(n)
	in.pop()
}

func (in *inline) push(sgr string) { in.styles = append(in.styles, sgr) }

func (in *inline) pop() { in.styles = in.styles[:len(in.styles)-1] }

// write shows a text in the styles around it. Line by line, so that no style is open where a line ends.
func (in *inline) write(s string) {
	var sgr []string
	for _, one := range in.styles {
		if one != "" {
			sgr = append(sgr, one)
		}
	}
	for i, line := range strings.Split(plain(s), "\n") {
		if i > 0 {
			in.out.WriteByte('\n')
		}
		in.out.WriteString(style(strings.Join(sgr, ";"), line))
	}
}

// resolved is a text with its backslashes and references read.
func resolved(b []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}

// plain is a text that shows itself and nothing else. A tab has no width of its own.
func plain(s string) string { return strings.ReplaceAll(safetext.Visible(s), "\t", "    ") }

// raw is the source of the texts below a node.
func raw(n ast.Node, source []byte) []byte {
	var out []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			out = append(out, t.Segment.Value(source)...)
		}
	}
	return out
}
