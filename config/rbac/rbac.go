// Package rbac embeds the rights of those who are not administrators of a local control plane.
package rbac

import "embed"

// Local holds local/*.yaml: what hermes up grants beside its own control plane.
//
//go:embed local/*.yaml
var Local embed.FS
