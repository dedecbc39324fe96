package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// elsewhere lists the reasons that no state of the API brings about by itself,
// with the test that reaches each.
var elsewhere = map[string]string{
	"Deleting": "TestProfileDeletion",
	// The object is gone a moment after its gateway said so.
	"Closed": "TestProfileDeletion: a Profile with a running gateway goes only after this report",
}

// reasonNames parses the values of api/v1alpha1/reasons.go.
func reasonNames(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		return true
	})
	if len(out) < 20 {
		t.Fatalf("only %d reasons found", len(out))
	}
	return out
}

// Every reason is reached by a row, or by the test that elsewhere names.
func TestEveryReasonIsReached(t *testing.T) {
	reached := map[string]bool{}
	for _, r := range rows() {
		for _, reason := range r.reasons() {
			reached[reason] = true
		}
	}
	for _, reason := range reasonNames(t) {
		where, listed := elsewhere[reason]
		switch {
		case reached[reason] && listed:
			t.Errorf("reason %s is reached by a row: take it off the list (%s)", reason, where)
		case !reached[reason] && !listed:
			t.Errorf("no row reaches reason %s", reason)
		}
	}
	for reason := range elsewhere {
		if !slices.Contains(reasonNames(t), reason) {
			t.Errorf("the list names %s, which is no reason", reason)
		}
	}
}
