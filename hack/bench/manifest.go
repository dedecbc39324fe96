package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeProfiles writes one file with the declarations of profiles first to last and returns its path.
func (s *stack) writeProfiles(first, last int) (string, error) {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, `---
apiVersion: hermes.dev/v1alpha1
kind: Profile
metadata: {name: %[1]s, namespace: default}
spec:
  model: {provider: demo, name: demo}
  identity: {soul: "You are %[1]s, an agent that takes part in a measurement."}
`, profileName(i))
	}
	path := filepath.Join(s.data, fmt.Sprintf("profiles-%d-%d.yaml", first, last))
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

func profileName(i int) string { return fmt.Sprintf("p%05d", i) }
