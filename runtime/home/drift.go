package home

import (
	"fmt"
	"path/filepath"
)

// Stamp tells two states of the files of a home that only the runtime writes apart, without reading them: config.yaml,
// .env, .managed and the record. A home that was written is as it was left while its stamp is the same.
func Stamp(p Paths) string {
	out := ""
	for _, name := range []string{configName, envName, managedName, recordName} {
		st, err := statStamp(filepath.Join(p.Home, name))
		out += fmt.Sprint(st, err != nil, ";")
	}
	return out
}
