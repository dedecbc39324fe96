package home

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DefaultProfile is the name of the profile that lives at the root itself.
const DefaultProfile = "default"

var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// reservedNames cannot be created; a directory that already carries one still resolves.
var reservedNames = []string{"hermes", "default", "test", "tmp", "root", "sudo"}

// ParseProfileName trims and lower-cases s and checks it against the grammar. An error says what is allowed.
// Implements G-110.
func ParseProfileName(s string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	if name == "" {
		return "", fmt.Errorf("profile name is empty: give a name such as %q or %q", DefaultProfile, "work")
	}
	if !profileName.MatchString(name) {
		return "", fmt.Errorf("profile name %q is not valid: use at most 64 of a-z, 0-9, '_' and '-', starting with a letter or digit", s)
	}
	return name, nil
}

// ParseNewProfileName is ParseProfileName for a profile that is about to be created: reserved names are refused.
// Implements G-111.
func ParseNewProfileName(s string) (string, error) {
	name, err := ParseProfileName(s)
	if err != nil {
		return "", err
	}
	if slices.Contains(reservedNames, name) {
		return "", fmt.Errorf("profile name %q is reserved: choose another one than %s", name, strings.Join(reservedNames, ", "))
	}
	return name, nil
}

// SessionNamespace is the prefix of the profile's session keys, without a trailing colon. A profile that is
// literally called main gets its own namespace, apart from the default profile's. Implements G-117.
func SessionNamespace(name string) string {
	switch name {
	case DefaultProfile, "":
		return "agent:main"
	case "main":
		return "agent:main~"
	default:
		return "agent:" + name
	}
}
