package tools

import (
	"regexp"
	"strings"
)

type danger struct {
	pattern *regexp.Regexp
	reason  string
}

const (
	// rmRecursive is a recursive rm up to one of its operands.
	rmRecursive = `\brm\s+([^\s;&|]+\s+)*-\S*[rR]\S*\s+([^\s;&|]+\s+)*`
	wordEnd     = `(\s|$|[;&|)])`
)

// dangers is a constant table. It is a seat belt, not a sandbox: it keeps an
// allow rule from covering what nobody means to allow unseen. What it does not
// know is still asked when no rule covers it.
var dangers = []danger{
	{regexp.MustCompile(rmRecursive + `((/|~|\$home|\$\{home\}|\.\.?)/*\*?|\*)` + wordEnd), "deletes recursively from a root, home or working directory"},
	{regexp.MustCompile(rmRecursive + `/(bin|boot|dev|etc|home|lib\w*|nix|opt|proc|root|run|sbin|srv|sys|usr|var)/*\*?` + wordEnd), "deletes a system directory"},
	{regexp.MustCompile(`\brm\s.*--no-preserve-root`), "deletes the root directory"},
	{regexp.MustCompile(`\bfind\s+(/|~|\$home)\S*\s.*-(delete|exec\s+rm)`), "deletes by a search from a root or home directory"},
	{regexp.MustCompile(`\b(mkfs(\.\w+)?|wipefs|mkswap|fdisk|sfdisk|parted|cryptsetup|blkdiscard)\b`), "formats or repartitions a disk"},
	{regexp.MustCompile(`\bdd\b.*\bof=/dev/`), "writes to a device"},
	{regexp.MustCompile(`>\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem|kmem)`), "writes to a device"},
	{regexp.MustCompile(`\bshred\b`), "destroys data"},
	{regexp.MustCompile(`(\S+)\s*\(\)\s*\{[^}]*\|[^}]*&[^}]*\}`), "looks like a fork bomb"},
	{regexp.MustCompile(`\b(curl|wget|fetch)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?(ba|z|da|k|fi)?sh\b`), "runs a download as a program"},
	{regexp.MustCompile(`\b(curl|wget|fetch)\b[^;]*\|\s*(\S*/)?(python|perl|ruby|node|php)`), "runs a download as a program"},
	{regexp.MustCompile(`\b((ba|z|da|k)?sh|source|eval|python\d*|\.)\s.*(<\(|\$\(|` + "`" + `)\s*(curl|wget|fetch)\b`), "runs a download as a program"},
	{regexp.MustCompile(`\bbase64\s+(-d|-D|--decode)\b.*\|\s*(\S*/)?(ba|z|da|k)?sh\b`), "runs decoded data as a program"},
	{regexp.MustCompile(`\b(chmod|chown|chgrp)\s+(-\S+\s+)*-\S*R\S*\s+\S+\s+(/|~|\$home)(\s|$|\*)`), "changes permissions from a root or home directory down"},
	{regexp.MustCompile(`\bchmod\s+(-\S+\s+)*[ugo]*a?\+s\b`), "sets a set-user-ID bit"},
	{regexp.MustCompile(`(^|[;&|(\s/])(sudo|doas|pkexec|su)(\s|$)`), "asks for more rights"},
	{regexp.MustCompile(`\b(shutdown|reboot|poweroff|halt)\b|\binit\s+[06]\b|\bsystemctl\s+(poweroff|reboot|halt|kexec)`), "stops the machine"},
	{regexp.MustCompile(`\bkill(all5)?\s+(-\S+\s+)*-1(\s|$)`), "ends every process of the user"},
	{regexp.MustCompile(`(>|\btee\s(-\S+\s+)*)\s*/(etc|boot|usr|bin|sbin|lib)/`), "writes to a system directory"},
	{regexp.MustCompile(`authorized_keys|\bvisudo\b|/etc/(passwd|shadow|sudoers)`), "touches who may log in"},
	{regexp.MustCompile(`\bcrontab\s+(-\S+\s+)*-r\b`), "deletes the user's crontab"},
	{regexp.MustCompile(`\bgit\s.*\bpush\b.*(\s--force\b|\s-f\b|\s--mirror\b)`), "overwrites a remote branch"},
	{regexp.MustCompile(`\b(auth\.json|mcp-tokens)\b|\bstate\.db|hermes_home\}?/\.env|/\.env\b`), "touches stored secrets or the agent's own store"},
}

// quoting is what a shell removes before it looks a word up; taking it away
// keeps r\m and "rm" from being another word.
var quoting = strings.NewReplacer(`\`+"\n", "", `\`, "", `"`, "", `'`, "", "\t", " ")

// Dangerous reports whether a command must always be put before a person, and
// why. It may be wrong in both directions and errs towards asking.
func Dangerous(command string) (reason string, dangerous bool) {
	plain := quoting.Replace(command)
	plain = strings.ReplaceAll(plain, "$HOME", "$home")
	plain = strings.ReplaceAll(plain, "${HOME}", "${home}")
	plain = strings.ReplaceAll(plain, "HERMES_HOME", "hermes_home")
	plain = strings.ReplaceAll(plain, "${IFS}", " ")
	for _, d := range dangers {
		if d.pattern.MatchString(plain) {
			return d.reason, true
		}
	}
	return "", false
}
