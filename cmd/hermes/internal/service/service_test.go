package service

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/home"
)

func spec(t *testing.T, homeDir string) Spec {
	t.Helper()
	return Spec{Home: home.ForHome(homeDir), Program: "/usr/bin/hermes", Scope: User, Path: "/usr/bin:/bin", DrainSeconds: 30}
}

// TestGolden pins the definitions that managers run (G-270).
func TestGolden(t *testing.T) {
	system := spec(t, "/var/lib/my hermes/100%/profiles/ops")
	system.Scope, system.RunAs, system.Force = System, "hermes", true
	for name, text := range map[string]string{
		"user.service":   SystemdUnit(spec(t, "/home/a/.hermes")),
		"system.service": SystemdUnit(system),
		"agent.plist":    LaunchdPlist(spec(t, "/Users/a & b/.hermes")),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || text != string(want) {
				t.Errorf("%v, got:\n%s", err, text)
			}
		})
	}
}

func run(t *testing.T, args ...string) int {
	t.Helper()
	err := exec.Command("/bin/sh", args...).Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if ended != nil {
		return ended.ExitCode()
	}
	return 0
}

// TestExitCodesUnderManagers runs the wrapper and the finish script with each code: the s6 and launchd columns of G-270, T-057.
func TestExitCodesUnderManagers(t *testing.T) {
	finish := filepath.Join(t.TempDir(), "finish")
	if err := os.WriteFile(finish, []byte(S6Finish), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]struct{ launchd, s6 int }{
		"0": {0, 125}, "1": {1, 0}, "75": {75, 0}, "78": {0, 125},
	} {
		if got := run(t, "-c", LaunchdWrapper, "hermes-gateway", "/bin/sh", "-c", "exit "+code); got != want.launchd {
			t.Errorf("launchd: %s becomes %d, want %d", code, got, want.launchd)
		}
		if got := run(t, finish, code); got != want.s6 {
			t.Errorf("s6: finish %s ends with %d, want %d", code, got, want.s6)
		}
	}
	unit := SystemdUnit(spec(t, "/h"))
	for _, want := range []string{"RestartForceExitStatus=75\n", "RestartPreventExitStatus=78\n", "RestartSec=5\n", "Restart=always\n", "StartLimitIntervalSec=0\n"} {
		if !strings.Contains(unit, want) {
			t.Errorf("systemd unit lacks %q", want)
		}
	}
}

// TestManager: what is installed can be found, and uninstalled, and only commands of the manager are run.
func TestManager(t *testing.T) {
	dir := t.TempDir()
	var commands []string
	m := Detect("linux", dir, "", User, func(string) bool { return true }, func(_ context.Context, name string, args ...string) (string, error) {
		commands = append(commands, name+" "+strings.Join(args, " "))
		return "", nil
	})
	s := spec(t, filepath.Join(dir, "root", "profiles", "ops"))
	if m.Installed("ops") {
		t.Fatal("installed already")
	}
	if err := m.Install(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !m.Installed("ops") || m.Installed("default") || !m.Running(t.Context(), "ops") {
		t.Error("not found after the install")
	}
	if err := m.Uninstall(t.Context(), "ops"); err != nil || m.Installed("ops") {
		t.Errorf("uninstall: %v", err)
	}
	want := []string{
		"systemctl --user daemon-reload", "systemctl --user enable --now hermes-gateway-ops.service",
		"systemctl --user is-active --quiet hermes-gateway-ops.service",
		"systemctl --user disable --now hermes-gateway-ops.service", "systemctl --user daemon-reload",
	}
	if !slices.Equal(commands, want) {
		t.Errorf("ran %q, want %q", commands, want)
	}
	none := Detect("linux", dir, "", User, func(string) bool { return false }, m.Run)
	if err := none.Install(t.Context(), s); !errors.Is(err, ErrNoManager) {
		t.Errorf("without a manager: %v", err)
	}
}
