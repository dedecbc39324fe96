package service

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// LaunchdPlist is the text of a launchd agent. launchd knows only success and failure, so the command runs below a shell
// that turns 78 into 0, which parks it, and passes everything else on.
// Implements the launchd column of G-270.
func LaunchdPlist(s Spec) string {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`)
	text := func(key, value string) {
		fmt.Fprintf(&b, "\t<key>%s</key>\n\t<string>%s</string>\n", key, escape(value))
	}
	text("Label", Label(s.Home.Name))
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, a := range append([]string{"/bin/sh", "-c", LaunchdWrapper, "hermes-gateway", s.Program}, s.args()...) {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escape(a))
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, kv := range [][2]string{{"HERMES_HOME", s.Home.Home}, {"PATH", s.Path}} {
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", kv[0], escape(kv[1]))
	}
	b.WriteString("\t</dict>\n\t<key>RunAtLoad</key>\n\t<true/>\n\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n")
	fmt.Fprintf(&b, "\t<key>ThrottleInterval</key>\n\t<integer>5</integer>\n\t<key>ExitTimeOut</key>\n\t<integer>%d</integer>\n", s.stopSeconds())
	text("StandardOutPath", s.log())
	text("StandardErrorPath", s.log())
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

// LaunchdWrapper runs its arguments, passes the signals of launchd on, and parks on 78. Implements T-057.
const LaunchdWrapper = `"$@" & p=$!; trap 'kill -TERM $p' TERM INT; trap 'kill -USR1 $p' USR1; while :; do wait $p; c=$?; kill -0 $p 2>/dev/null || break; done; [ $c -eq 78 ] && exit 0; exit $c`

// S6Finish is the finish script of an s6 slot: 78 becomes 125, which is permanent, and 0 parks the slot as well;
// everything else is started again. Implements the s6 column of G-270.
const S6Finish = `#!/bin/sh
# $1 is the exit code of the gateway, 256 when a signal ended it.
case "$1" in
0 | 78) exit 125 ;;
*) exit 0 ;;
esac
`

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
