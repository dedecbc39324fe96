package tools

import (
	"slices"
	"strings"
)

// skillFacts are what the gates of a skill are judged by.
type skillFacts struct {
	// platform is the operating system: linux, darwin, windows.
	platform string
	// environment answers for the environments it knows.
	environment func(name string) (present, known bool)
	// app reports whether an application is on this host; an unknown one is not.
	app           func(name string) bool
	toolset, tool func(name string) bool
}

// usable reports whether a skill can work on this platform at all, and why not.
//
// Implements the hard gate of T21.
func (m skillMeta) usable(f skillFacts) (ok bool, why string) {
	if len(m.Platforms) == 0 || slices.ContainsFunc(m.Platforms, func(p string) bool { return samePlatform(p, f.platform) }) {
		return true, ""
	}
	return false, "it is for " + strings.Join(m.Platforms, ", ")
}

func samePlatform(said, platform string) bool {
	switch said = strings.ToLower(said); said {
	case "any", "all":
		return true
	case "macos", "osx", "mac":
		return platform == "darwin"
	case "win", "win32":
		return platform == "windows"
	}
	return said == platform
}

// offered reports whether a usable skill is worth showing, and why not. Environments are alternatives, and one that is
// unknown lets the skill through; applications are all needed, and one that is unknown hides it. What it requires must
// all be there; what it stands in for must all be missing.
//
// Implements the offer-time gates of T21, and T22.
func (m skillMeta) offered(f skillFacts) (ok bool, why string) {
	inPlace := len(m.Environments) == 0
	for _, name := range m.Environments {
		present, known := f.environment(strings.ToLower(name))
		inPlace = inPlace || present || !known
	}
	if !inPlace {
		return false, "it is for the environment " + strings.Join(m.Environments, " or ")
	}
	for _, gate := range []struct {
		names   []string
		present func(string) bool
		want    bool
		why     string
	}{
		{m.RequiresApps, f.app, true, "it needs the application "},
		{m.RequiresToolsets, f.toolset, true, "it needs the toolset "},
		{m.RequiresTools, f.tool, true, "it needs the tool "},
		{m.FallbackToolsets, f.toolset, false, "it stands in for the toolset "},
		{m.FallbackTools, f.tool, false, "it stands in for the tool "},
	} {
		for _, name := range gate.names {
			if gate.present(name) != gate.want {
				return false, gate.why + name
			}
		}
	}
	return true, ""
}
