package nesting

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func nested(open, end string, levels int) string {
	return strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels)
}

func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		body    string
		refused bool
	}{
		"objects at the bound":      {nested(`{"a":`, "}", Max), false},
		"objects beyond":            {nested(`{"a":`, "}", Max+1), true},
		"lists beyond":              {nested("[", "]", Max+1), true},
		"after space":               {" \r\n\t" + nested("[", "]", Max+1), true},
		"many beside each other":    {"[" + strings.Repeat("{},", Max*2) + "{}]", false},
		"brackets in a text":        {`{"soul":"` + strings.Repeat("[{", Max) + `"}`, false},
		"brackets after an escape":  {`{"soul":"\"` + strings.Repeat("[", Max+1) + `\\"}`, false},
		"a text that ends":          {`{"soul":"\\","a":` + nested("[", "]", Max) + "}", true},
		"what is no JSON":           {"k8s\x00" + strings.Repeat("{", Max+1), false},
		"nothing":                   {"", false},
		"too deep and never closed": {strings.Repeat("[", 1<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"whole": strings.NewReader(tc.body), "bytes": iotest.OneByteReader(strings.NewReader(tc.body))} {
				var got []byte
				var err error
				Limit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, err = io.ReadAll(r.Body) })).
					ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPatch, "/", r))
				switch {
				case apierrors.IsBadRequest(err) != tc.refused:
					t.Errorf("%s: %v", how, err)
				case !tc.refused && string(got) != tc.body:
					t.Errorf("%s: the body was changed", how)
				}
			}
		})
	}
}
