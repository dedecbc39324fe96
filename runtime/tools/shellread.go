package tools

import (
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	// Bounds of what is taken apart; what is beyond them is put before a person.
	maxCommandBytes = 64 << 10
	maxNesting      = 200
	maxScripts      = 32
)

// readCommand gives a command as a shell would read it: words without quoting, variables with the values the command
// gives them, and each script that it hands to another shell. odd says why it should be looked at although nothing of
// that is dangerous by itself.
//
// The grammar is that of mvdan.cc/sh, which knows POSIX shells and bash.
func readCommand(command string) (readings []string, odd string) {
	r := &shellReader{vars: map[string]string{"HOME": "~", "PWD": ".", "IFS": " \t\n", "HERMES_HOME": "hermes_home"}}
	r.script(command)
	return r.readings, r.odd
}

type shellReader struct {
	vars     map[string]string
	readings []string
	odd      string
	scripts  int
	// missed says that a variable nobody has set was read.
	missed bool
}

func (r *shellReader) note(why string) {
	if r.odd == "" {
		r.odd = why
	}
}

// script reads one text that a shell will run.
func (r *shellReader) script(text string) {
	if r.scripts++; r.scripts > maxScripts || len(text) > maxCommandBytes || nesting(text) > maxNesting {
		r.note("is too long or too deeply nested to be judged")
		return
	}
	var file *syntax.File
	var err error
	for _, variant := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		if file, err = syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), ""); err == nil {
			break
		}
	}
	if err != nil {
		r.note("cannot be read as a shell command")
		return
	}
	r.readings = append(r.readings, r.statements(file.Stmts))
}

// nesting is how many openings of groups and substitutions a text holds at most inside each other; quoting does not
// count, so it may be more than there are.
func nesting(text string) int {
	return strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`") + strings.Count(text, "if ") + strings.Count(text, "do ")
}

func (r *shellReader) statements(list []*syntax.Stmt) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.statement(s)
	}
	return strings.Join(out, " ; ")
}

func (r *shellReader) statement(s *syntax.Stmt) string {
	var out strings.Builder
	argv := r.command(&out, s.Cmd)
	for _, redirect := range s.Redirs {
		switch {
		case redirect.Hdoc != nil && readsInput(argv):
			r.script(r.literal(redirect.Hdoc))
		case redirect.Op == syntax.WordHdoc && readsInput(argv):
			r.script(r.literal(redirect.Word))
		case redirect.Word != nil && redirect.Hdoc == nil:
			out.WriteString(" " + redirect.Op.String() + " " + r.literal(redirect.Word))
		}
	}
	if s.Background {
		out.WriteString(" &")
	}
	return out.String()
}

// command writes a command as text and returns its words when it is a simple one.
func (r *shellReader) command(out *strings.Builder, c syntax.Command) (argv []string) {
	switch c := c.(type) {
	case nil:
		return nil
	case *syntax.CallExpr:
		return r.call(out, c)
	case *syntax.BinaryCmd:
		r.binary(out, c)
		return nil
	case *syntax.ForClause:
		if items, ok := c.Loop.(*syntax.WordIter); ok && items.Name != nil {
			r.vars[items.Name.Value] = strings.Join(r.words(items.Items), " ")
		}
	}
	// Compound commands: what is inside them, in order.
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			out.WriteString(" ; " + r.statement(n))
			return false
		case *syntax.Assign:
			out.WriteString(" " + r.assign(n))
			return false
		case *syntax.Word:
			out.WriteString(" " + r.literal(n))
			return false
		}
		return true
	})
	return nil
}

func (r *shellReader) binary(out *strings.Builder, c *syntax.BinaryCmd) {
	left := r.statement(c.X)
	right := r.statement(c.Y)
	out.WriteString(left + " " + c.Op.String() + " " + right)
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		return
	}
	call, ok := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || !readsInput(r.words(call.Args)) {
		return
	}
	// The left side may itself be a pipeline: its first command says the most.
	x := c.X
	for {
		inner, ok := x.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		x = inner.X
	}
	if said, ok := r.said(x.Cmd); ok {
		r.script(said)
	} else {
		r.note("runs the output of another program as a program")
	}
}

// said is what an echo or a printf writes.
func (r *shellReader) said(c syntax.Command) (string, bool) {
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return "", false
	}
	argv := r.words(call.Args)
	if len(argv) < 2 {
		return "", false
	}
	switch path.Base(argv[0]) {
	case "echo":
		return strings.Join(argv[1:], " "), true
	case "printf":
		text, _, err := expand.Format(r.config(), argv[1], argv[2:])
		return text, err == nil
	}
	return "", false
}

func (r *shellReader) call(out *strings.Builder, c *syntax.CallExpr) []string {
	for _, a := range c.Assigns {
		out.WriteString(r.assign(a) + " ")
	}
	if len(c.Args) == 0 {
		return nil
	}
	r.missed = false
	first := r.words(c.Args[:1])
	switch {
	case r.missed || strings.Contains(strings.Join(first, " "), "$("):
		r.note("computes which program it runs")
	case len(first) > 0 && strings.ContainsAny(first[0], "*?[") && first[0] != "[" && first[0] != "[[":
		r.note("gives the program it runs by a pattern")
	case len(first) > 0 && strings.ContainsFunc(first[0], func(c rune) bool { return c > 0x7f }):
		r.note("runs a program whose name may be mistaken for another")
	}
	argv := append(first, r.words(c.Args[1:])...)
	out.WriteString(strings.Join(argv, " "))
	for _, script := range handedOn(argv) {
		r.script(script)
	}
	return argv
}

func (r *shellReader) assign(a *syntax.Assign) string {
	if a.Name == nil || a.Value == nil {
		return ""
	}
	value := r.literal(a.Value)
	r.vars[a.Name.Value] = value
	return a.Name.Value + "=" + value
}

var (
	shellName  = regexp.MustCompile(`^(ba|z|da|k|mk|a|fi|c|tc)?sh$`)
	scriptFlag = regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`)
	gitAlias   = regexp.MustCompile(`^alias\.[^=]+=\s*!`)
)

// handedOn lists the scripts that a command's words hold for another shell.
func handedOn(argv []string) []string {
	var out []string
	for i, word := range argv {
		rest := argv[i+1:]
		switch {
		case shellName.MatchString(path.Base(word)):
			for j, flag := range rest {
				if scriptFlag.MatchString(flag) && j+1 < len(rest) {
					out = append(out, rest[j+1])
					break
				}
			}
		case word == "eval" || word == "watch" || word == "parallel":
			out = append(out, strings.Join(rest, " "))
		case word == "trap" && len(rest) > 0:
			out = append(out, rest[0])
		case gitAlias.MatchString(word):
			out = append(out, gitAlias.ReplaceAllString(word, ""))
		case argv[0] == "alias" && i > 0:
			if _, script, ok := strings.Cut(word, "="); ok {
				out = append(out, script)
			}
		}
	}
	return out
}

// readsInput reports whether a command is a shell that runs what it reads from its input.
func readsInput(argv []string) bool {
	i := slices.IndexFunc(argv, func(w string) bool { return shellName.MatchString(path.Base(w)) })
	if i < 0 || i > 0 && !slices.Contains([]string{"env", "sudo", "doas", "exec", "command", "nohup", "nice", "busybox", "time", "xargs", "timeout", "stdbuf", "setsid"}, path.Base(argv[0])) {
		return false
	}
	for _, arg := range argv[i+1:] {
		switch {
		case scriptFlag.MatchString(arg):
			return false
		case arg == "-s" || arg == "-" || arg == "--":
			return true
		case !strings.HasPrefix(arg, "-"):
			return false
		}
	}
	return true
}

func (r *shellReader) config() *expand.Config {
	return &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			value, ok := r.vars[name]
			r.missed = r.missed || !ok
			return value
		}),
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			_, err := io.WriteString(w, "$("+r.statements(c.Stmts)+")")
			return err
		},
		ProcSubst: func(p *syntax.ProcSubst) (string, error) { return "<(" + r.statements(p.Stmts) + ")", nil },
	}
}

// words expands words as the shell would, without looking at the disk.
func (r *shellReader) words(list []*syntax.Word) []string {
	var out []string
	for _, w := range list {
		fields, err := expand.Fields(r.config(), w)
		if err != nil {
			fields = []string{source(w)}
		}
		out = append(out, fields...)
	}
	return out
}

func (r *shellReader) literal(w *syntax.Word) string {
	text, err := expand.Literal(r.config(), w)
	if err != nil {
		return source(w)
	}
	return text
}

// source is a word as it is written.
func source(w *syntax.Word) string {
	var out strings.Builder
	if err := syntax.NewPrinter().Print(&out, w); err != nil {
		return ""
	}
	return out.String()
}
