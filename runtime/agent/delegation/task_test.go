package delegation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for raw, want := range map[string]Request{
		`{"goal":"g"}`: {Tasks: []Task{{Goal: "g"}}},
		`{"goal":"g","context":"c","toolsets":["file"],"async":true}`: {Async: true, Tasks: []Task{{Goal: "g", Context: "c", Toolsets: []string{"file"}}}},
		`{"tasks":[{"goal":"a"},{"goal":"b","context":"own","toolsets":["web"]}],"context":"c","toolsets":["file"]}`: {
			Tasks: []Task{{Goal: "a", Context: "c", Toolsets: []string{"file"}}, {Goal: "b", Context: "own", Toolsets: []string{"web"}}},
		},
	} {
		got, err := Parse(json.RawMessage(raw))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	many := `{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{"goal":"g"},`, MaxTasks+1), ",") + `]}`
	for raw, want := range map[string]string{
		`{}`:                                  "task 1 has no goal",
		`{"goal":"  "}`:                       "task 1 has no goal",
		`{"goal":"g","tasks":[{"goal":"h"}]}`: "either goal or tasks",
		`{"tasks":[{"goal":"g"},{}]}`:         "task 2 has no goal",
		`{"goal":"g","depth":3}`:              "depth",
		`[]`:                                  "invalid arguments",
		many:                                  "may have 16",
		fmt.Sprintf(`{"goal":%q}`, strings.Repeat("x", maxText+1)): "too long",
	} {
		if _, err := Parse(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", raw, err, want)
		}
	}
}

// The reports of a batch together stay within one bound, whole characters each.
func TestBound(t *testing.T) {
	long := strings.Repeat("é", maxReport)
	for _, n := range []int{1, 3, MaxTasks} {
		total := 0
		for range n {
			r := Result{Summary: long, Error: long, Goal: long}.Bound(n)
			if !utf8.ValidString(r.Summary) || len(r.Error) > maxError || len(r.Summary) > maxSummary {
				t.Errorf("%d: %d bytes", n, len(r.Summary))
			}
			total += len(r.Summary)
		}
		if total > maxReport {
			t.Errorf("%d children report %d bytes", n, total)
		}
	}
	if got := (Result{Summary: "short"}).Bound(1); got.Summary != "short" {
		t.Errorf("%q", got.Summary)
	}
}
