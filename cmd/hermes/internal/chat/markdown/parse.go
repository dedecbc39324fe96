package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parse reads CommonMark with tables, strikethrough and task lists, and without links by reference. A parser is cheap next to
// what it reads, so each text gets its own and nothing is shared.
func parse(source []byte) ast.Node {
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0))...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	return p.Parse(text.NewReader(source))
}

// settled is how much of a text, in bytes, belongs to blocks that text after it cannot change: all before the last block. Only
// whole lines count, because half of one may be read as a heading, a list or a fence that it turns out not to be.
func settled(source string) int {
	whole := strings.LastIndexByte(source, '\n') + 1
	last := parse([]byte(source[:whole])).LastChild()
	if last == nil || last.Pos() < 0 || last.Pos() > whole {
		return 0
	}
	return strings.LastIndexByte(source[:last.Pos()], '\n') + 1
}
