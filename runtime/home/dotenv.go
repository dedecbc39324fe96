package home

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const envHeader = "# Written by hermes from the Profile. Changes here are put back: change spec.env instead.\n"

// plainValue needs no quotes in any dotenv dialect or shell.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]*$`)

// ErrEnvSyntax means that a line of a .env file cannot be read. It never carries the line's text, which may be a
// secret.
type ErrEnvSyntax struct {
	// Line counts from 1.
	Line int
	// Problem says what is wrong.
	Problem string
}

func (e *ErrEnvSyntax) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// FormatEnv writes a whole .env. Values with newlines, quotes, '#' or '$' are quoted so that ParseEnv, python-dotenv
// and, where single quotes are enough, a POSIX shell read the same value (NQ-7). Names are checked by Render.
func FormatEnv(entries []EnvEntry) []byte {
	var b bytes.Buffer
	b.WriteString(envHeader)
	for _, e := range entries {
		b.WriteString(e.Name + "=" + quoteEnv(e.Value) + "\n")
	}
	return b.Bytes()
}

func quoteEnv(v string) string {
	switch {
	case plainValue.MatchString(v):
		return v
	case !strings.ContainsAny(v, `'\`) && !strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return "'" + v + "'"
	default:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v) + `"`
	}
}

// ParseEnv reads a .env file: NAME=value lines, optionally after "export ", '#' comments, single-quoted values as
// they are, double-quoted values with \n \r \t \" \\ \$ escapes; quoted values may span lines. Nothing is expanded
// and nothing is taken from elsewhere. Names are in file order and unique, the last value wins. The error is an
// *ErrEnvSyntax.
func ParseEnv(data []byte) ([]EnvEntry, error) {
	if !utf8.Valid(data) {
		return nil, &ErrEnvSyntax{Line: 1, Problem: "the file is not UTF-8 text"}
	}
	p := &envParser{rest: strings.TrimPrefix(string(data), "\ufeff"), line: 1, at: map[string]int{}}
	for p.rest != "" {
		if err := p.entry(); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

type envParser struct {
	rest string
	line int
	out  []EnvEntry
	at   map[string]int
}

func (p *envParser) fail(problem string) error { return &ErrEnvSyntax{Line: p.line, Problem: problem} }

// take cuts n bytes off and counts their lines.
func (p *envParser) take(n int) string {
	s := p.rest[:n]
	p.rest = p.rest[n:]
	p.line += strings.Count(s, "\n")
	return s
}

func (p *envParser) skipBlanks() { p.take(len(p.rest) - len(strings.TrimLeft(p.rest, " \t"))) }

func (p *envParser) restOfLine() string {
	if i := strings.IndexByte(p.rest, '\n'); i >= 0 {
		return p.rest[:i]
	}
	return p.rest
}

func (p *envParser) endLine() {
	p.take(len(p.restOfLine()))
	if p.rest != "" {
		p.take(1)
	}
}

func (p *envParser) entry() error {
	p.skipBlanks()
	line := strings.TrimRight(p.restOfLine(), " \t\r")
	if line == "" || line[0] == '#' {
		p.endLine()
		return nil
	}
	if after, ok := strings.CutPrefix(p.rest, "export "); ok {
		p.take(len(p.rest) - len(after))
		p.skipBlanks()
	}
	eq := strings.IndexByte(p.restOfLine(), '=')
	if eq < 0 {
		return p.fail("expected NAME=value")
	}
	name := strings.TrimRight(p.rest[:eq], " \t")
	if !envVarName.MatchString(name) {
		return p.fail("a name has only letters, digits and '_'")
	}
	p.take(eq + 1)
	p.skipBlanks()
	value, err := p.value()
	if err != nil {
		return err
	}
	if strings.ContainsRune(value, 0) {
		return p.fail("a value has no zero byte")
	}
	if i, ok := p.at[name]; ok {
		p.out[i].Value = value
		return nil
	}
	p.at[name] = len(p.out)
	p.out = append(p.out, EnvEntry{Name: name, Value: value})
	return nil
}

func (p *envParser) value() (string, error) {
	if p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
		return p.quoted(p.rest[0])
	}
	line := p.restOfLine()
	value := line
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	for i := 1; i < len(value); i++ { // a comment needs a blank before it
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	p.endLine()
	return strings.TrimRight(value, " \t\r"), nil
}

func (p *envParser) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == quote:
			p.take(i + 1)
			tail := strings.TrimSpace(p.restOfLine())
			if tail != "" && tail[0] != '#' {
				return "", p.fail("text after the closing quote")
			}
			p.endLine()
			return b.String(), nil
		case c == '\\' && quote == '"' && i+1 < len(p.rest):
			i++
			b.WriteString(unescape(p.rest[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail("the closing quote is missing")
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	default:
		return `\` + string(rune(c))
	}
}
