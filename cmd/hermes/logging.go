package main

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logs are the loggers of a verb that runs long: its own, and the one its libraries get.
type logs struct{ own, libraries logr.Logger }

// logsTo decides what goes where. Libraries log dozens of lines on a normal start, so only their warnings are
// kept. A person at a terminal sees warnings alone, so that what hermes up prints stays in sight; the rest is
// in the file then. Without a file everything goes to the screen, be it a terminal or a journal.
func logsTo(screen, file io.Writer) logs {
	handler := func(w io.Writer, level slog.Level) slog.Handler {
		return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
	}
	if file == nil {
		return logs{
			own:       logr.FromSlogHandler(handler(screen, slog.LevelInfo)),
			libraries: logr.FromSlogHandler(handler(screen, slog.LevelWarn)),
		}
	}
	warnings := handler(screen, slog.LevelWarn)
	return logs{
		own:       logr.FromSlogHandler(slog.NewMultiHandler(warnings, handler(file, slog.LevelInfo))),
		libraries: logr.FromSlogHandler(slog.NewMultiHandler(warnings, handler(file, slog.LevelWarn))),
	}
}

// install gives the libraries that log through a global their logger.
func (l logs) install() logs {
	ctrl.SetLogger(l.libraries)
	klog.SetLogger(l.libraries.WithName("kubernetes"))
	return l
}
