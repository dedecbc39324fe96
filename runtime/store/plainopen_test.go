package store

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// opens are the calls that open a file beside SQLite, by package.
var opens = map[string]*regexp.Regexp{
	"os":       regexp.MustCompile(`^(Open|OpenFile|OpenInRoot|Create|ReadFile|WriteFile|Truncate|CopyFS)$`),
	"regular":  regexp.MustCompile(`^(Open|OpenIn|ReadFile)$`),
	"ioutil":   regexp.MustCompile(`^(ReadFile|WriteFile)$`),
	"renameio": regexp.MustCompile(`^(WriteFile|TempFile|NewPendingFile)$`),
	"syscall":  regexp.MustCompile(`^(Open|Openat|Creat)$`),
	"unix":     regexp.MustCompile(`^(Open|Openat|Openat2|Creat)$`),
}

// storeNames are the ways in which code names the database or its sidecars.
var storeNames = regexp.MustCompile(`\bs\.path\b|\bs\.Path\(\)|\.Store\(\)|state\.db\b|\bdbPath\b`)

// plainOpens finds calls in Go source that open a store's file with anything but SQLite.
func plainOpens(name string, source any) ([]string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		callee, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := callee.X.(*ast.Ident)
		if !ok || opens[pkg.Name] == nil || !opens[pkg.Name].MatchString(callee.Sel.Name) {
			return true
		}
		var text bytes.Buffer
		if err := printer.Fprint(&text, files, call); err == nil && storeNames.Match(text.Bytes()) {
			found = append(found, files.Position(call.Pos()).String()+": "+text.String())
		}
		return true
	})
	return found, nil
}

// TestNoPlainOpenInTheSource: T-235, S-133. Nothing in this program opens a database beside SQLite.
func TestNoPlainOpenInTheSource(t *testing.T) {
	scanned := 0
	for _, dir := range []string{"../../runtime", "../../cmd", "../../controllers", "../../controlplane"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			scanned++
			found, err := plainOpens(path, nil)
			for _, call := range found {
				t.Errorf("%s: closing it drops this process's locks on the store; use SQLite, or stat", call)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if scanned < 100 {
		t.Errorf("only %d files scanned", scanned)
	}
}

// TestPlainOpenIsCaught: T-235. The scan finds what it is for.
func TestPlainOpenIsCaught(t *testing.T) {
	for call, caught := range map[string]bool{
		`os.Open(s.path)`:                                           true,
		`os.ReadFile(r.o.Paths.Store())`:                            true,
		`os.ReadFile(p.Store() + "-wal")`:                           true,
		`os.OpenFile(filepath.Join(home, "state.db"), 0, 0)`:        true,
		`unix.Open(dbPath, 0, 0)`:                                   true,
		`renameio.WriteFile(paths.Store(), nil, 0o600)`:             true,
		`regular.Open(s.path)`:                                      true,
		`os.Stat(s.path)`:                                           false,
		`os.Lstat(r.o.Paths.Store())`:                               false,
		`os.Open(filepath.Join(home, "config.yaml"))`:               false,
		`store.Open(ctx, paths.Store(), store.Options{})`:           false,
		`os.ReadFile(filepath.Join(dir, "state.dbx", "notes.txt"))`: false,
	} {
		found, err := plainOpens("x.go", "package x\nfunc f() { _ = "+call+" }")
		if err != nil || (len(found) > 0) != caught {
			t.Errorf("%s: found %v, %v", call, found, err)
		}
	}
}
