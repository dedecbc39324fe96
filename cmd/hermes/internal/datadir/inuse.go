package datadir

import (
	"regexp"
	"strings"
)

// InUse is how a command line names its control plane. What it tells people to run must name it the same way.
type InUse struct {
	// Data, Kubeconfig and Namespace are the values of the flags; "" when one was not given.
	Data, Kubeconfig, Namespace string
}

var (
	// inRemedy finds the commands of a remedy, which begins with one or pipes into one.
	inRemedy = regexp.MustCompile(`(^|\| )hermes ([a-z])`)
	// inMessage finds those that a sentence names to be run; a sentence about hermes up is left alone.
	inMessage = regexp.MustCompile(`(see |→ |\| )hermes ([a-z])`)
)

// Remedy is a remedy with the flags in use; it names the namespace itself.
func (u InUse) Remedy(text string) string {
	u.Namespace = ""
	return u.reword(inRemedy, text)
}

// Message is a message with the flags in use in the commands that it names.
func (u InUse) Message(text string) string { return u.reword(inMessage, text) }

func (u InUse) reword(commands *regexp.Regexp, text string) string {
	flags := ""
	if u.Data != "" {
		flags += " --data " + quoted(u.Data)
	}
	if u.Kubeconfig != "" {
		flags += " --kubeconfig " + quoted(u.Kubeconfig)
	}
	if u.Namespace != "" && !strings.Contains(text, " -n ") {
		flags += " -n " + quoted(u.Namespace)
	}
	if flags == "" {
		return text
	}
	return commands.ReplaceAllStringFunc(text, func(found string) string {
		parts := commands.FindStringSubmatch(found)
		return parts[1] + "hermes" + flags + " " + parts[2]
	})
}
