package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hermes.dev/hermes/runtime/home"
)

// ParkedFileName marks a profile that must not be served. Implements G-284.
const ParkedFileName = "gateway.parked"

var multiplexKey = []string{"gateway", "multiplex_profiles"}

// Installed is one profile of a home root with what decides whether it is served.
type Installed struct {
	home.Paths
	// Parked is true while the marker of G-284 is there.
	Parked bool
	// OptedOut is gateway.standalone of the profile's own config.
	OptedOut bool
}

// Roster reads every installed profile of a root. It only reads. Implements the reading part of G-116.
func Roster(root string) ([]Installed, error) {
	list, err := home.List(root)
	out := make([]Installed, 0, len(list))
	for _, paths := range list {
		i := Installed{Paths: paths}
		if _, err := os.Lstat(filepath.Join(paths.Home, ParkedFileName)); err == nil {
			i.Parked = true
		}
		if cfg, err := readConfig(paths); err == nil {
			i.OptedOut = cfg.Bool("gateway", "standalone")
		}
		out = append(out, i)
	}
	return out, err
}

func readConfig(paths home.Paths) (*home.Config, error) {
	data, err := os.ReadFile(paths.Config())
	if err != nil {
		return nil, err
	}
	return home.ParseConfig(data)
}

// ToServe picks the profiles that a gateway serves: its launch profile alone, or default first and then every other one
// that is neither parked nor keeps a gateway of its own. The launch profile is always served; markers on the default
// profile are ignored with a warning. Implements G-116 and G-334.
func ToServe(launch home.Paths, roster []Installed, multiplex bool) (serve []home.Paths, warnings []string) {
	if !multiplex {
		return []home.Paths{launch}, nil
	}
	seen := false
	for _, i := range roster {
		isLaunch := i.Name == launch.Name
		seen = seen || isLaunch
		if i.Name == home.DefaultProfile {
			if i.Parked {
				warnings = append(warnings, "the default profile cannot be parked: remove "+filepath.Join(i.Home, ParkedFileName))
			}
			if i.OptedOut {
				warnings = append(warnings, "the default profile cannot opt out: remove gateway.standalone from "+i.Config())
			}
		} else if !isLaunch && (i.Parked || i.OptedOut) {
			continue
		}
		serve = append(serve, i.Paths)
	}
	if !seen {
		serve = append(serve, launch)
	}
	return serve, warnings
}

// BootFacts are what the multiplex verdict is made of.
type BootFacts struct {
	// Flag is gateway.multiplex_profiles of the default profile, nil when unset.
	Flag *bool
	// OptedOut is true when the launching profile keeps a gateway of its own.
	OptedOut bool
	// Servable counts the profiles that could be served.
	Servable int
	// Busy names the other profiles that have a living gateway of their own.
	Busy []string
	// Err is set when the profiles could not be read.
	Err error
}

// BootVerdict says whether a gateway multiplexes, and why not.
type BootVerdict struct {
	Multiplex bool
	// Reason is for multiplex_standalone_reason of gateway_state.json; "" when there is nothing to explain.
	Reason   string
	Warnings []string
	// WriteFlag asks for the flag to be written as true.
	WriteFlag bool
}

// MultiplexFacts reads what the verdict needs; busy reports a living gateway of another home.
func MultiplexFacts(launch home.Paths, busy func(home.Paths) bool) (BootFacts, error) {
	var f BootFacts
	roster, err := Roster(launch.Root)
	f.Err = err
	for _, i := range roster {
		switch {
		case i.Name == launch.Name:
			f.OptedOut = i.OptedOut && i.Name != home.DefaultProfile
		case i.Name != home.DefaultProfile && (i.Parked || i.OptedOut):
			continue
		case busy(i.Paths):
			f.Busy = append(f.Busy, i.Name)
		}
		f.Servable++
	}
	root, pathErr := home.ForProfile(launch.Root, home.DefaultProfile)
	if pathErr != nil {
		return f, pathErr
	}
	if cfg, err := readConfig(root); err == nil {
		on, off := cfg.Bool(multiplexKey...), cfg.IsFalse(multiplexKey...)
		if on || off {
			f.Flag = &on
		}
	}
	return f, err
}

// DecideMultiplex settles at boot whether a gateway serves every profile of its host. An unset flag is a request, true
// is never second-guessed, and false no longer opts out. Implements G-320 to G-322.
func DecideMultiplex(f BootFacts, err error) (BootVerdict, error) {
	var v BootVerdict
	if f.Flag != nil && !*f.Flag {
		v.Warnings = append(v.Warnings, "gateway.multiplex_profiles: false no longer opts out and is read as unset: set gateway.standalone in a profile that needs a gateway of its own")
	}
	switch {
	case f.OptedOut:
		return v, err
	case f.Flag != nil && *f.Flag:
		v.Multiplex = true
	case f.Err != nil:
		v.Reason = "the profiles of this host cannot be read: " + f.Err.Error()
	case f.Servable < 2:
	case len(f.Busy) > 0:
		v.Reason = fmt.Sprintf("profile %s has a gateway of its own: fold it in with hermes gateway migrate --multiplex", strings.Join(f.Busy, ", "))
	default:
		v.Multiplex, v.WriteFlag = true, true
	}
	if v.Reason != "" {
		v.Warnings = append(v.Warnings, "serving only the launch profile: "+v.Reason)
	}
	return v, err
}
