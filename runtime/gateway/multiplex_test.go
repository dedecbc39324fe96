package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hermes.dev/hermes/runtime/home"
)

// TestDecideMultiplex is G-320 to G-322 and the cases T-070 and T-071.
func TestDecideMultiplex(t *testing.T) {
	on, off := true, false
	for name, c := range map[string]struct {
		facts            BootFacts
		multiplex, write bool
		reason           bool
		warnings         int
	}{
		"T-070 one profile":                     {BootFacts{Servable: 1}, false, false, false, 0},
		"T-070 two quiet profiles":              {BootFacts{Servable: 2}, true, true, false, 0},
		"T-070 a secondary has its own gateway": {BootFacts{Servable: 2, Busy: []string{"ops"}}, false, false, true, 1},
		"T-071 false, two quiet profiles":       {BootFacts{Flag: &off, Servable: 2}, true, true, false, 1},
		"G-320 true is not second-guessed":      {BootFacts{Flag: &on, Servable: 1, Busy: []string{"ops"}}, true, false, false, 0},
		"G-321 launch profile opted out":        {BootFacts{Flag: &on, OptedOut: true, Servable: 3}, false, false, false, 0},
		"G-321 unreadable":                      {BootFacts{Err: errors.New("denied")}, false, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := DecideMultiplex(c.facts, nil)
			if v.Multiplex != c.multiplex || v.WriteFlag != c.write || (v.Reason != "") != c.reason || len(v.Warnings) != c.warnings {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// makeProfile makes a home that counts as a profile.
func makeProfile(t *testing.T, root, name, config string) home.Paths {
	t.Helper()
	p, err := home.ForProfile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.Config(), config)
	return p
}

// TestToServe is G-116: the order, and whom the markers leave out.
func TestToServe(t *testing.T) {
	root := t.TempDir()
	makeProfile(t, root, "default", "gateway: {standalone: true}\n")
	makeProfile(t, root, "ops", "{}\n")
	makeProfile(t, root, "coder", "{}\n")
	makeProfile(t, root, "alone", "gateway: {standalone: true}\n")
	parked := makeProfile(t, root, "parked", "{}\n")
	write(t, filepath.Join(parked.Home, ParkedFileName), "")
	write(t, filepath.Join(root, "profiles", "ghost", "cron", "jobs.json"), "{}") // T-004
	write(t, filepath.Join(root, ParkedFileName), "")
	roster, err := Roster(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		launch    string
		multiplex bool
		want      []string
		warnings  int
	}{
		"multiplexing":                       {"default", true, []string{"default", "coder", "ops"}, 2},
		"launched as a named one":            {"ops", true, []string{"default", "coder", "ops"}, 2},
		"G-334 launch profile is parked":     {"parked", true, []string{"default", "coder", "ops", "parked"}, 2},
		"launch profile has nothing yet":     {"fresh", true, []string{"default", "coder", "ops", "fresh"}, 2},
		"not multiplexing: the launch alone": {"ops", false, []string{"ops"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			launch, _ := home.ForProfile(root, c.launch)
			got, warnings := ToServe(launch, roster, c.multiplex)
			var names []string
			for _, p := range got {
				names = append(names, p.Name)
			}
			if !slices.Equal(names, c.want) || len(warnings) != c.warnings {
				t.Errorf("serves %v with %q, want %v", names, warnings, c.want)
			}
		})
	}
	if entries, _ := os.ReadDir(filepath.Join(root, "profiles", "ghost")); len(entries) != 1 {
		t.Error("the enumeration wrote something")
	}
}
