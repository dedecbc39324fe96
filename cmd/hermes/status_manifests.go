package main

import (
	"hermes.dev/hermes/cmd/hermes/internal/manifestdir"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// manifests is what the running hermes up --manifests could not apply. A screen about one object does not show it.
func (s *statusScreen) manifests() []statusview.Manifest {
	data := s.client.Source.Data
	owner, ok := data.Up()
	if !ok || s.query.Kind != "" {
		return nil
	}
	failures, err := manifestdir.ReadTrouble(data.ManifestTrouble(), owner.PID, owner.StartTime)
	if err != nil {
		return []statusview.Manifest{{At: data.ManifestTrouble(), Reason: manifestdir.ReasonNotApplied, Message: err.Error()}}
	}
	var out []statusview.Manifest
	for _, f := range failures {
		message := f.Message
		if f.Object != "" {
			message = f.Object + ": " + message
		}
		out = append(out, statusview.Manifest{At: f.At, Reason: manifestdir.ReasonNotApplied, Message: message, Since: f.Since})
	}
	return out
}
