// Package untranslated keeps kubectl's packages from compressing their translations at every start of this
// program: that costs more time and memory than everything else a short verb does, and hermes has no
// translations. It must be imported for its side effect by whoever imports kubectl's commands, and must
// import nothing else, so that it is initialised before them.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	if err := i18n.SetLoadTranslationsFunc(func() error { return nil }); err != nil {
		panic(err) // only a nil function is refused
	}
}
