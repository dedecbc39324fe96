package statusview

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Terminal says what the reader's terminal can show.
type Terminal struct {
	// Width in columns; no line is longer. 0 means 80, NoLimit that nothing is cut or wrapped.
	Width int
	// ASCII replaces every other character.
	ASCII bool
	// Color marks verdicts.
	Color bool
}

// Options of a rendering.
type Options struct {
	Terminal
	Now time.Time
	// AllNamespaces puts the namespace before the name.
	AllNamespaces bool
	// Scope completes "nothing is declared", for example "in namespace default".
	Scope string
}

// NoLimit is the Width of what is not a terminal: a file or a program has no edge to keep to.
const NoLimit = -1

const (
	unlimited    = 1 << 30
	defaultWidth = 80
	minWidth     = 40
	maxName      = 30
	minNameCol   = 8
	minSinceCol  = 7
	symbolCol    = 2
)

// Render is the view as text: a header, one line an object, and a remedy under each one that needs attention.
func Render(v View, o Options) string {
	p := newPage(o)
	p.line(header(v, o, p.width), "")
	p.line("", "")
	if len(v.Rows) == 0 {
		p.line("nothing is declared "+o.Scope, "")
		p.line("→ hermes apply -f FILE", dim)
		return p.String()
	}
	c := columnsFor(v.Rows, o)
	p.line("  "+c.row("KIND", "NAME", "SINCE", "STATE"), dim)
	for _, r := range v.Rows {
		p.object(c, r)
	}
	return p.String()
}

// Detail is one object with all its conditions, messages in full.
func Detail(v View, o Options) string {
	p := newPage(o)
	p.line(header(v, o, p.width), "")
	for _, r := range v.Rows {
		p.line("", "")
		p.whole(columnsFor([]Row{r}, o), r)
		p.line("", "")
		for _, condition := range r.Conditions {
			since := age(condition.LastTransitionTime.Time, o.Now)
			p.line(fmt.Sprintf("  %-20s %-8s %-6s %s", condition.Type, condition.Status, since, condition.Reason), "")
			for _, text := range fold(clean(condition.Message), p.width-4) {
				p.line("    "+text, dim)
			}
		}
	}
	return p.String()
}

func header(v View, o Options, width int) string {
	left := []string{v.ControlPlane.Address, v.ControlPlane.Kubeconfig}
	if v.ControlPlane.Kind == "local" {
		left = []string{"local control plane", v.ControlPlane.Address}
		if v.ControlPlane.Since != nil {
			left = append(left, "up "+age(*v.ControlPlane.Since, o.Now))
		}
	}
	right := summary(v)
	text := clean(facts(left...))
	if width == unlimited {
		width = max(defaultWidth, runewidth.StringWidth(text)+1+runewidth.StringWidth(right))
	}
	room := width - runewidth.StringWidth(right) - 1
	text = runewidth.Truncate(text, room, "…")
	return text + strings.Repeat(" ", room+1-runewidth.StringWidth(text)) + right
}

// summary counts what the rows say, in as few words as it takes.
func summary(v View) string {
	count := map[Verdict]int{}
	for _, r := range v.Rows {
		count[r.Verdict]++
	}
	n, bad := len(v.Rows), v.NeedAttention()
	switch {
	case n == 0:
		return "empty"
	case bad == 1:
		return fmt.Sprintf("1 of %d needs attention", n)
	case bad > 0:
		return fmt.Sprintf("%d of %d need attention", bad, n)
	case count[Ready] == n && n > 1:
		return fmt.Sprintf("all %d ready", n)
	}
	var parts []string
	for _, p := range []struct {
		verdict Verdict
		word    string
	}{{Ready, "ready"}, {Suspended, "suspended"}, {NotImplemented, "not acted on yet"}} {
		if count[p.verdict] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[p.verdict], p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// columns are the widths of a table.
type columns struct {
	kind, name, since, state int
	now                      time.Time
	namespaced               bool
}

func columnsFor(rows []Row, o Options) columns {
	c := columns{kind: len("KIND") + 1, name: minNameCol, since: minSinceCol, now: o.Now, namespaced: o.AllNamespaces}
	widest := maxName
	if o.width() == unlimited {
		widest = unlimited
	}
	for _, r := range rows {
		c.kind = max(c.kind, len(r.Kind)+1)
		c.name = max(c.name, min(runewidth.StringWidth(c.nameOf(r)), widest)+2)
		c.since = max(c.since, len(c.sinceOf(r))+2)
	}
	c.state = max(o.width()-symbolCol-c.kind-c.name-c.since, 10)
	return c
}

func (o Options) width() int {
	switch {
	case o.Width < 0:
		return unlimited
	case o.Width == 0:
		return defaultWidth
	}
	return max(o.Width, minWidth)
}

func (c columns) nameOf(r Row) string {
	if c.namespaced {
		return r.Namespace + "/" + r.Name
	}
	return r.Name
}

func (c columns) sinceOf(r Row) string {
	if r.Since == nil {
		return "-"
	}
	return age(*r.Since, c.now)
}

func (c columns) row(kind, name, since, state string) string {
	name = runewidth.Truncate(name, c.name-2, "…")
	return pad(kind, c.kind) + pad(name, c.name) + pad(since, c.since) + state
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-runewidth.StringWidth(s), 0))
}

// ANSI colours.
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

func look(v Verdict) (symbol, color string) {
	switch v {
	case NotReady:
		return "✗", red
	case Progressing:
		return "◌", yellow
	case Suspended:
		return "–", dim
	case NotImplemented:
		return "○", dim
	}
	return "✓", green
}

// page collects lines and keeps the promises about width, characters and colour.
type page struct {
	Options
	width int
	out   strings.Builder
}

func newPage(o Options) *page { return &page{Options: o, width: o.width()} }

func (p *page) String() string { return p.out.String() }

// line prints one line, cut to the width, in a colour.
func (p *page) line(text, color string) {
	text = p.fit(text, p.width)
	if p.Color && color != "" && text != "" {
		text = color + text + reset
	}
	p.out.WriteString(text + "\n")
}

func (p *page) fit(text string, width int) string {
	text = strings.TrimRight(runewidth.Truncate(text, width, "…"), " ")
	if p.ASCII {
		text = strings.TrimRight(runewidth.Truncate(ascii(text), width, "..."), " ")
	}
	return text
}

// marked prints one line after a symbol; only the symbol is coloured.
func (p *page) marked(symbol, color, text string) {
	text = p.fit(symbol+" "+text, p.width)
	if p.Color {
		if mark, rest, found := strings.Cut(text, " "); found {
			text = color + mark + reset + " " + rest
		}
	}
	p.out.WriteString(text + "\n")
}

func (p *page) object(c columns, r Row) {
	symbol, color := look(r.Verdict)
	if r.Warning != "" {
		symbol, color = "!", yellow
	}
	p.marked(symbol, color, c.row(r.Kind, c.nameOf(r), c.sinceOf(r), clean(r.State)))
	p.remedy(r.Remedy, p.width-c.state)
}

// whole is object with a state that continues below itself instead of being cut.
func (p *page) whole(c columns, r Row) {
	lines := fold(clean(r.State), c.state)
	remedy := r.Remedy
	if strings.HasSuffix(remedy, strings.TrimPrefix(statusOf(r), "hermes")) {
		remedy = "" // the reader has just run it
	}
	if len(lines) > 0 {
		r.State = lines[0]
	}
	r.Remedy = ""
	p.object(c, r)
	for _, more := range lines[min(1, len(lines)):] {
		p.line(strings.Repeat(" ", p.width-c.state)+more, "")
	}
	p.remedy(remedy, p.width-c.state)
}

// remedy prints a command below what it cures. It is spelt with the terminal's characters before it is
// broken into lines: one that is cut afterwards could not be run.
func (p *page) remedy(command string, column int) {
	if command == "" {
		return
	}
	width := p.width
	if p.ASCII {
		command, width = ascii(command), width-1 // "->" is one column wider than the arrow
	}
	for _, line := range remedyLines(command, width, column) {
		p.line(line, dim)
	}
}

// remedyLines puts a command under the state column, or further left when it does not fit there. One that
// does not fit at all is broken between words with a backslash, so that it can still be copied and run.
func remedyLines(command string, width, column int) []string {
	const arrow = "→ "
	need := runewidth.StringWidth(arrow + command)
	if indent := min(column, width-need); indent >= symbolCol {
		return []string{strings.Repeat(" ", indent) + arrow + command}
	}
	lines := wrap(command, width-symbolCol-2-2)
	for i := range lines {
		lead := "  "
		if i == 0 {
			lead = arrow
		}
		if i < len(lines)-1 {
			lines[i] += ` \`
		}
		lines[i] = strings.Repeat(" ", symbolCol) + lead + lines[i]
	}
	return lines
}

// wrap breaks text between words; a word longer than the width stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case runewidth.StringWidth(line)+1+runewidth.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fold is wrap that also breaks a word longer than the width: nothing is lost.
func fold(text string, width int) []string {
	var lines []string
	for _, line := range wrap(text, width) {
		for runewidth.StringWidth(line) > width {
			head := runewidth.Truncate(line, width, "")
			if head == "" {
				break
			}
			lines = append(lines, head)
			line = line[len(head):]
		}
		lines = append(lines, line)
	}
	return lines
}

// clean makes text from objects safe to print: one line, and nothing that a terminal would act on.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// ascii spells every character with ASCII ones.
func ascii(text string) string {
	text = strings.NewReplacer("✗", "x", "✓", "+", "◌", "~", "○", "o", "–", "-", "·", "-", "→", "->", "…", "...",
		"“", `"`, "”", `"`, "’", "'").Replace(text)
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}
