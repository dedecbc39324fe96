package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Runner runs one command of a service manager and returns its output; the error says how it ended.
type Runner func(ctx context.Context, name string, args ...string) (string, error)

// Manager puts services in place and speaks to the service manager.
type Manager struct {
	// Kind is systemd or launchd, "" when this machine has neither.
	Kind string
	// Scope of the units.
	Scope Scope
	// Dir holds the definitions.
	Dir string
	Run Runner
}

// ErrNoManager means that neither systemd nor launchd runs here.
var ErrNoManager = errors.New("no service manager that hermes knows runs here: start hermes gateway run from your own supervisor (75 means try again, 78 means do not)")

// Detect finds the manager of a machine. exists tells whether a path is there.
func Detect(goos, userHome, configHome string, scope Scope, exists func(string) bool, run Runner) Manager {
	m := Manager{Scope: scope, Run: run}
	switch {
	case goos == "darwin":
		m.Kind, m.Scope, m.Dir = "launchd", User, filepath.Join(userHome, "Library", "LaunchAgents")
	case exists("/run/systemd/system") && scope == System:
		m.Kind, m.Dir = "systemd", "/etc/systemd/system"
	case exists("/run/systemd/system"):
		if configHome == "" {
			configHome = filepath.Join(userHome, ".config")
		}
		m.Kind, m.Dir = "systemd", filepath.Join(configHome, "systemd", "user")
	}
	return m
}

// Path is where the definition of a profile's service lies.
func (m Manager) Path(profile string) string {
	if m.Kind == "launchd" {
		return filepath.Join(m.Dir, Label(profile)+".plist")
	}
	return filepath.Join(m.Dir, Name(profile)+".service")
}

// Installed reports whether the profile has a service of its own.
func (m Manager) Installed(profile string) bool {
	if m.Kind == "" {
		return false
	}
	_, err := os.Lstat(m.Path(profile))
	return err == nil
}

// Running reports whether the manager runs the profile's service now.
func (m Manager) Running(ctx context.Context, profile string) bool {
	if !m.Installed(profile) {
		return false
	}
	if m.Kind == "launchd" {
		out, err := m.Run(ctx, "launchctl", "list", Label(profile))
		return err == nil && strings.Contains(out, `"PID" =`)
	}
	_, err := m.systemctl(ctx, "is-active", "--quiet", Name(profile)+".service")
	return err == nil
}

// Render is the definition of a service.
func (m Manager) Render(s Spec) (string, error) {
	switch m.Kind {
	case "systemd":
		return SystemdUnit(s), nil
	case "launchd":
		return LaunchdPlist(s), nil
	default:
		return "", ErrNoManager
	}
}

// Install writes the definition and starts the service.
func (m Manager) Install(ctx context.Context, s Spec) error {
	text, err := m.Render(s)
	if err != nil {
		return err
	}
	path := m.Path(s.Home.Name)
	if err := os.MkdirAll(filepath.Dir(s.log()), 0o700); err != nil {
		return fmt.Errorf("make the log directory: %w", err)
	}
	if err := os.MkdirAll(m.Dir, 0o755); err != nil { // read by the service manager
		return fmt.Errorf("install service: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // no secret, read by the service manager
		return fmt.Errorf("install service: %w", err)
	}
	if m.Kind == "launchd" {
		_, err := m.Run(ctx, "launchctl", "load", "-w", path)
		return err
	}
	if _, err := m.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	_, err = m.systemctl(ctx, "enable", "--now", Name(s.Home.Name)+".service")
	return err
}

// Uninstall stops the service and removes its definition. One that is not there is no error.
func (m Manager) Uninstall(ctx context.Context, profile string) error {
	if !m.Installed(profile) {
		return nil
	}
	if m.Kind == "launchd" {
		_, err := m.Run(ctx, "launchctl", "unload", "-w", m.Path(profile))
		return errors.Join(err, os.Remove(m.Path(profile)))
	}
	_, stopErr := m.systemctl(ctx, "disable", "--now", Name(profile)+".service")
	if err := os.Remove(m.Path(profile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(stopErr, fmt.Errorf("uninstall service: %w", err))
	}
	_, err := m.systemctl(ctx, "daemon-reload")
	return errors.Join(stopErr, err)
}

// Start starts an installed service.
func (m Manager) Start(ctx context.Context, profile string) error {
	return m.verb(ctx, "start", profile)
}

// Stop stops an installed service; the manager does not start it again until it is told to.
func (m Manager) Stop(ctx context.Context, profile string) error { return m.verb(ctx, "stop", profile) }

func (m Manager) verb(ctx context.Context, verb, profile string) error {
	var err error
	switch {
	case m.Kind == "launchd" && verb == "start":
		_, err = m.Run(ctx, "launchctl", "load", "-w", m.Path(profile))
	case m.Kind == "launchd":
		_, err = m.Run(ctx, "launchctl", "unload", m.Path(profile)) // stop alone would be started again
	default:
		_, err = m.systemctl(ctx, verb, Name(profile)+".service")
	}
	return err
}

func (m Manager) systemctl(ctx context.Context, args ...string) (string, error) {
	if m.Scope == User {
		args = append([]string{"--user"}, args...)
	}
	return m.Run(ctx, "systemctl", args...)
}
