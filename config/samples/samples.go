// Package samples embeds example manifests.
package samples

import "embed"

// Demo holds demo/*.yaml: what hermes up --demo applies. It needs no network, no account and no key.
//
//go:embed demo/*.yaml
var Demo embed.FS
