// Package nesting owns the bound on how deeply the body of a request may be nested.
//
// The server's own bound is 10,000 levels, and what merges, prunes, indents and remembers the owners of fields costs the
// square of the depth: one object of 9,000 levels took a gigabyte here and more time than a request has, so that it could
// be neither updated nor deleted any more. This package must never look at what a body means.
package nesting

import (
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Max is how many objects and lists may stand inside each other. CustomResourceDefinitions, the deepest objects people
// write, have less than a hundred.
const Max = 512

// Limit refuses request bodies in JSON that are nested deeper than Max, with 400, while they are read. Block YAML needs
// bytes in the square of its depth, so the server's limit on bytes bounds it.
func Limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &body{ReadCloser: r.Body}
		}
		next.ServeHTTP(w, r)
	})
}

// body passes a request's body on and counts its open brackets.
type body struct {
	io.ReadCloser
	state state
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.state.read(p[:n]) {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("the object is nested deeper than %d levels: make it flatter", Max))
	}
	return n, err
}

// state is where in a JSON text the reader is.
type state struct {
	depth                              int
	begun, foreign, inString, escaping bool
}

// read takes the next bytes and reports whether the text is within bounds so far.
func (s *state) read(text []byte) bool {
	for _, c := range text {
		switch {
		case s.foreign:
			return true
		case s.escaping:
			s.escaping = false
		case s.inString:
			s.escaping, s.inString = c == '\\', c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.begun = true
			if s.depth++; s.depth > Max {
				return false
			}
		case c == '}' || c == ']':
			s.depth--
		case !s.begun && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			s.foreign = true // not JSON
		}
	}
	return true
}
