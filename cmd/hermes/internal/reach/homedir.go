package reach

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/home"
)

// homeSeen is what the directory that --home names holds.
type homeSeen struct {
	// itself says that the directory is a profile's home: it has a marker, or a store.
	itself bool
	// profiles are the live profiles for which it is the home root.
	profiles []string
}

// atHome finds a profile by the directory that --home names.
func (f Finder) atHome(dir, wanted string, need Need) (Target, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Target{}, fmt.Errorf("--home: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Target{}, fmt.Errorf("--home: %s is not a directory on this machine: name a profile's home or a home root", dir)
	}
	seen, err := lookAt(dir)
	if err != nil {
		return Target{}, err
	}
	paths, err := chooseHome(dir, seen, wanted, need)
	if err != nil {
		return Target{}, err
	}
	return f.below(paths, ""), nil
}

func lookAt(dir string) (homeSeen, error) {
	seen := homeSeen{itself: home.IsProfileHome(dir)}
	if _, err := os.Lstat(home.ForHome(dir).Store()); err == nil { // lstat opens nothing (S-133)
		seen.itself = true
	}
	all, err := home.List(dir)
	for _, p := range all {
		if p.Home != dir {
			seen.profiles = append(seen.profiles, p.Name)
		}
	}
	return seen, err
}

// chooseHome decides what --home DIR means. DIR is a profile's own home when it is named profiles/NAME, else a home root:
// its profiles are those below DIR/profiles and, when DIR itself is a home, default. A directory profiles/NAME that is no
// home and holds some is a root. One that is neither is a home only for what may fill it.
func chooseHome(dir string, seen homeSeen, wanted string, need Need) (home.Paths, error) {
	own := home.ForHome(dir)
	named := own.Name != home.DefaultProfile
	switch {
	case named && (seen.itself || len(seen.profiles) == 0):
		if wanted != "" && wanted != own.Name {
			return home.Paths{}, exit.Usagef("--home %s is the home of profile %s and -p says %s: name one of them", dir, own.Name, wanted)
		}
	case seen.itself || len(seen.profiles) > 0:
		names := slices.Clone(seen.profiles)
		if seen.itself {
			names = append(names, home.DefaultProfile)
		}
		name, err := Pick(names, wanted, "below "+dir)
		if err != nil {
			return home.Paths{}, err
		}
		return home.ForProfile(dir, name)
	case need.Empty && wanted != "" && wanted != home.DefaultProfile:
		return home.Paths{}, fmt.Errorf("there is no profile %q below %s: make and name its home, %s", wanted, dir, filepath.Join(dir, "profiles", wanted))
	}
	if !seen.itself && !need.Empty {
		return home.Paths{}, exit.Usagef("--home %s: that is no profile's home, and there is none below it", dir)
	}
	return own, nil
}
