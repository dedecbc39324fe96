package service

import (
	"fmt"
	"strings"
)

// SystemdUnit is the text of a unit. Code 75 is tried again after 5 s, code 78 parks the unit, and there is no limit on
// starts: the gateway's own breaker spaces them out. A restart goes through SIGUSR1, so that turns in flight finish.
// Implements the systemd column of G-270.
func SystemdUnit(s Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("[Unit]")
	line("Description=Hermes gateway (%s)", s.Home.Name)
	line("After=network-online.target")
	line("Wants=network-online.target")
	line("StartLimitIntervalSec=0")
	line("")
	line("[Service]")
	line("Type=exec")
	line("ExecStart=%s", systemdCommand(append([]string{s.Program}, s.args()...)))
	line("ExecReload=/bin/kill -USR1 $MAINPID")
	if s.Scope == System {
		line("User=%s", s.RunAs)
	}
	line("Environment=%s", systemdQuote("HERMES_HOME="+s.Home.Home))
	line("Environment=%s", systemdQuote("PATH="+s.Path))
	line("Restart=always")
	line("RestartSec=5")
	line("RestartForceExitStatus=75")
	line("RestartPreventExitStatus=78")
	line("KillMode=mixed")
	line("TimeoutStopSec=%d", s.stopSeconds())
	line("")
	line("[Install]")
	if s.Scope == System {
		line("WantedBy=multi-user.target")
	} else {
		line("WantedBy=default.target")
	}
	return b.String()
}

func systemdCommand(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		// A dollar sign would be expanded on a command line, and only there.
		quoted[i] = strings.ReplaceAll(systemdQuote(a), "$", "$$")
	}
	return strings.Join(quoted, " ")
}

// systemdQuote writes one word as systemd reads it: specifiers escaped, quoted when it must be.
func systemdQuote(word string) string {
	word = strings.ReplaceAll(word, "%", "%%")
	if !strings.ContainsAny(word, " \t\n\"'\\;") && word != "" {
		return word
	}
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	return `"` + r.Replace(word) + `"`
}
