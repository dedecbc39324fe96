package exit

import (
	"errors"
	"fmt"
	"testing"
)

func TestCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"nil is done":                  {nil, 0},
		"any other error is a failure": {errors.New("x"), 1},
		"usage":                        {Usagef("x"), 2},
		"busy":                         {Busyf("x"), 75},
		"refused":                      {Refusedf("x"), 78},
		"silent keeps its code":        {Silent(1), 1},
		"a wrapped error keeps it":     {fmt.Errorf("up: %w", Busyf("x")), 75},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Code(tc.err); got != tc.want {
				t.Errorf("Code(%v) = %d, want %d", tc.err, got, tc.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"nothing to say":   {nil, ""},
		"already said":     {Silent(1), ""},
		"one line":         {errors.New("a\nb"), "hermes: a b"},
		"no doubled error": {errors.New("error: a"), "hermes: a"},
		"wraps":            {fmt.Errorf("up: %w", Busyf("taken")), "hermes: up: taken"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line("hermes", tc.err); got != tc.want {
				t.Errorf("Line(%v) = %q, want %q", tc.err, got, tc.want)
			}
		})
	}
}
