package markdown

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// TestLines pins how each kind of block looks.
func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		width  int
		want   string
	}{
		"nothing":            {"", 40, ""},
		"paragraphs":         {"one\ntwo\n\n\nthree", 40, "one\ntwo\n\nthree"},
		"wrapped":            {"some words that go on", 10, "some words\nthat go on"},
		"too long a word":    {"abcdefghijklmno", 10, "abcdefghij\nklmno"},
		"wide characters":    {"漢字漢字漢字", 10, "漢字漢字漢\n字"},
		"heading":            {"## Two *words*", 40, "## Two words"},
		"setext":             {"Title\n===", 40, "# Title"},
		"marks":              {"**a** _b_ `c` ~~d~~ ***e***", 40, "a b c ~~d~~ e"},
		"code":               {"```go\nfunc main() {\n\treturn\n}\n```", 40, "  func main() {\n      return\n  }"},
		"code too wide":      {"```\n0123456789abc\n```", 12, "  0123456789\n  abc"},
		"half-open fence":    {"```\nx := 1", 40, "  x := 1"},
		"indented code":      {"a\n\n    b\n", 40, "a\n\n  b"},
		"list":               {"- a\n- b\n  - c\n", 40, "• a\n• b\n  • c"},
		"loose list":         {"3. a\n\n4. b\n", 40, "3. a\n\n4. b"},
		"list wraps":         {"- some words here", 12, "• some words\n  here"},
		"task list":          {"- [x] a\n- [ ] b", 40, "• [x] a\n• [ ] b"},
		"empty item":         {"-\n- b", 40, "•\n• b"},
		"quote":              {"> a\n> b\n>\n> c", 40, "│ a\n│ b\n│ \n│ c"},
		"rule":               {"a\n\n***\n\nb", 10, "a\n\n──────────\n\nb"},
		"link":               {"[text](http://x.y) <http://z>", 40, "text (http://x.y) http://z"},
		"link of itself":     {"[http://x.y](http://x.y)", 40, "http://x.y"},
		"no reference links": {"[a]\n\n[a]: http://x.y", 40, "[a]\n\n[a]: http://x.y"},
		"image":              {"![alt](a.png)", 40, "alt (a.png)"},
		"html":               {"<b>x</b>\n\n<div>\n\x1b[2J\n</div>", 40, "<b>x</b>\n\n<div>\n^[[2J\n</div>"},
		"table":              {"| a | bb |\n|---|---:|\n| 1 | 2 |", 40, " a │ bb\n───┼────\n 1 │  2"},
		"escapes":            {`\*a\* &amp; &lt;`, 40, "*a* & <"},
		"raw escape":         {"a\x1b[31mb", 40, "a^[[31mb"},
		"numeric reference":  {"a&#27;[31mb &#x1b;]52;c;x&#7;", 40, "a^[[31mb ^[]52;c;x^G"},
		"named reference":    {"a&ZeroWidthSpace;b&rlm;c", 40, "a<U+200B>b<U+200F>c"},
		"reference in code":  {"`&#27;`", 40, "&#27;"},
		"in a destination":   {"[a](x&#27;[2J)", 40, "a (x^[[2J)"},
	} {
		if got := strings.Join(Lines(c.source, c.width, Theme{}), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := strings.Join(Lines("- a\n\n---\n> b\n\n| a | b |\n|-|-|\n| 1 | 2 |", 40, Plain(true)), "\n"); strings.ContainsFunc(got, func(r rune) bool { return r > 0x7f }) {
		t.Errorf("not ASCII: %q", got)
	}
}

// pieces of which random documents are made; the broken ones matter as much as the others.
var pieces = []string{
	"some words ", "**bold** ", "*half ", "`code` ", "`", "```", "~~~", "```go", "\n", "\n", "\n\n", "- item", "1. one", "2) two", "  nested", "    ",
	"# Title", "Title\n===", "---", "-", "=", "> quote", ">", "| a | b |", "|---|---|", "| 1 | 2 |", "<div>", "</div>", "<!-- x", "-->",
	"[l](http://x.y)", "[r]: http://x.y", "[r]", "\t", "漢字かな", "🙂", "é", "&amp;", "&#27;[2J", "\x1b[31m", "\u009b", "\u202e", "\x00", "\r", "\\", "!", "#", "+", "* * *", ": def", "[^1]",
}

func document(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// streamed shows a text that comes in pieces block by block, as the screen does.
func streamed(r *rand.Rand, source string, width int, theme Theme) string {
	var s Stream
	var out []string
	show := func(block string) {
		if lines := Lines(block, width, theme); len(lines) > 0 {
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, lines...)
		}
	}
	for source != "" {
		n := 1 + r.IntN(min(len(source), 12))
		show(s.Add(source[:n]))
		if !strings.HasPrefix(s.pending, s.Tail()) {
			panic("the tail is not what is pending")
		}
		source = source[n:]
	}
	show(s.End())
	return strings.Join(out, "\n")
}

// TestStreamShowsTheWhole: however a text is cut on its way, what is printed block by block is the whole text.
func TestStreamShowsTheWhole(t *testing.T) {
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		source := document(r)
		checkStream(t, r, source)
	}
}

func checkStream(t *testing.T, r *rand.Rand, source string) {
	t.Helper()
	width := 12 + r.IntN(60)
	want := strings.Join(Lines(source, width, Colors(false)), "\n")
	if got := streamed(r, source, width, Colors(false)); got != want {
		t.Fatalf("%q in pieces shows\n%s\nwant\n%s", source, got, want)
	}
	checkLines(t, source, width, want)
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// checkLines: nothing but colours reaches the terminal, no line is too wide, and no style is open at its end.
func checkLines(t *testing.T, source string, width int, out string) {
	t.Helper()
	bare := sgr.ReplaceAllString(out, "")
	for _, r := range bare {
		if safetext.Hidden(r) || r == '\t' {
			t.Fatalf("%q shows %q", source, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "\x1b") && openStyle(line) != "" {
			t.Fatalf("%q leaves a style open: %q", source, line)
		}
		if nested := strings.Count(source, ">") + strings.Count(source, "- ") + strings.Count(source, ". ") + strings.Count(source, ") "); nested == 0 && ansi.StringWidth(line) > width {
			t.Fatalf("%q is wider than %d: %q", source, width, line)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("# a\n\n```\nx\n```\n- b\n", uint64(1))
	f.Fuzz(func(t *testing.T, source string, seed uint64) {
		checkStream(t, rand.New(rand.NewPCG(seed, 1)), source)
	})
}

// TestHalfOfAFence is not shown as text: it would flicker.
func TestHalfOfAFence(t *testing.T) {
	for source, tail := range map[string]string{
		"a\n\n``": "a\n\n", "a\n\n```": "a\n\n", "a\n\n```go": "a\n\n```go", "a\n-": "a\n", "- ": "", "1.": "", "a\nb": "a\nb", "| a |\n|--": "| a |\n",
	} {
		var s Stream
		s.Add(source)
		if got := s.Tail(); got != tail {
			t.Errorf("%q: tail %q, want %q", source, got, tail)
		}
	}
}

// TestSettled: a block is final once the next one began.
func TestSettled(t *testing.T) {
	for source, want := range map[string]string{
		"one":                      "",
		"one\n":                    "",
		"one\n\n":                  "",
		"one\n\ntwo":               "",
		"one\n\ntwo\n":             "one\n\n",
		"one\n#two\n":              "",
		"one\n# two\n":             "one\n",
		"one\n===\n":               "",
		"- a\n\n- b\n":             "",
		"- a\n\nb\n":               "- a\n\n",
		"```\na\n\nb\n":            "",
		"```\na\n```\n":            "",
		"```\na\n```\nb\n":         "```\na\n```\n",
		"a\n\n| x |\n|---|\n| 1 |": "a\n\n",
	} {
		if got := source[:settled(source)]; got != want {
			t.Errorf("%q: %q is settled, want %q", source, got, want)
		}
	}
}

func BenchmarkStreamLongFence(b *testing.B) {
	line := "\tfmt.Println(\"a line of code that is about as long as one\")\n"
	for b.Loop() {
		var s Stream
		s.Add("```go\n")
		for range 1000 {
			s.Add(line)
		}
	}
}
