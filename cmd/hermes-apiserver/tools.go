//go:build tools

// This file keeps the commands that the build runs from this module's dependencies in go.mod.
package main

import (
	_ "k8s.io/kubernetes/cmd/kubectl"
)
