package tools

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// ProcessesFile is the file of a home that says which background processes ran.
const ProcessesFile = "processes.json"

type processesFile struct {
	Version   int           `json:"version"`
	Processes []ProcessInfo `json:"processes"`
}

// load reads what earlier runs have left, once; p.mu is held. What was running then is lost, and is ended when it outlived
// its gateway: whatever has its number now is touched only when it was born as the record says. A file that cannot be read is as if
// there were none: it only tells what was.
func (p *Processes) load() {
	if p.loaded || p.o.Path == "" {
		return
	}
	p.loaded = true
	raw, err := os.ReadFile(p.o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var file processesFile
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		p.o.Log.Error(err, "the record of background processes cannot be read", "path", p.o.Path)
		return
	}
	for _, info := range file.Processes {
		if info.active() {
			info.State, info.EndedAt = ProcessLost, p.o.Clock.Now().UTC()
			info.Detail = "the gateway stopped while it ran; what became of it, and its output, is unknown"
			if p.endLeftover(info) {
				info.Detail = "the gateway stopped while it ran; it was ended when the next one started, and its output is unknown"
			}
		}
		done := make(chan struct{})
		close(done)
		p.list = append(p.list, &managed{info: info, done: done, kill: func() {}})
	}
	p.forget()
}

// save writes the record; p.mu is held. Commands can hold anything, so only the owner may read it.
func (p *Processes) save() error {
	if p.o.Path == "" {
		return nil
	}
	file := processesFile{Version: 1}
	for _, m := range p.list {
		file.Processes = append(file.Processes, p.snapshot(m))
	}
	raw, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(p.o.Path, append(raw, '\n'), 0o600)
}
