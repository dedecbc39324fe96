//go:build linux

package process

import "hermes.dev/hermes/controllers/engine"

type obs = engine.Observation
