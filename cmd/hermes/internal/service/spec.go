package service

import (
	"fmt"
	"path/filepath"
	"strings"

	"hermes.dev/hermes/runtime/home"
)

// Scope says which systemd instance runs a unit.
type Scope string

// The scopes of a unit; launchd agents are always the user's.
const (
	User   Scope = "user"
	System Scope = "system"
)

// Spec is one gateway as a service.
type Spec struct {
	// Home is the launch home.
	Home home.Paths
	// Program is the absolute path of hermes.
	Program string
	Scope   Scope
	// RunAs is the user of a system unit.
	RunAs string
	// Path is the PATH of the service; tools of the agents need it.
	Path string
	// Force lets the unit start beside another gateway.
	Force bool
	// DrainSeconds bounds the wait for turns in flight.
	DrainSeconds int
}

// Name of the service: hermes-gateway, or hermes-gateway-<profile> for a named one.
func Name(profile string) string {
	if profile == "" || profile == home.DefaultProfile {
		return "hermes-gateway"
	}
	return "hermes-gateway-" + profile
}

// Label is the name under launchd.
func Label(profile string) string {
	return "dev.hermes." + strings.TrimPrefix(Name(profile), "hermes-")
}

func (s Spec) args() []string {
	args := []string{"gateway", "run", "--home", s.Home.Home, "--drain-timeout", fmt.Sprintf("%ds", s.DrainSeconds)}
	if s.Force {
		args = append(args, "--force")
	}
	return args
}

// stopSeconds is how long the manager waits for a stop: the drain, closing, and some air.
func (s Spec) stopSeconds() int { return s.DrainSeconds + 15 }

func (s Spec) log() string { return filepath.Join(s.Home.Home, "logs", "gateway.log") }
