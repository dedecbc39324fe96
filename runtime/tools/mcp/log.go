package mcp

import (
	"log/slog"

	"github.com/go-logr/logr"
)

// quiet gives the SDK a logger: what it has to say is for who looks for a fault.
func quiet(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log.V(1))) }
