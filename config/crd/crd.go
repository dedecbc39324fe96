// Package crd embeds the CustomResourceDefinitions generated from
// api/v1alpha1, so that one binary can install and upgrade them.
package crd

import "embed"

// Bases holds bases/*.yaml, one CustomResourceDefinition a file.
//
//go:embed bases/*.yaml
var Bases embed.FS
