package conformance

import (
	"context"
	"os"
	"slices"
	"sync"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/node"
)

// memoryProfiles is a node.Profiles without agents or stores.
type memoryProfiles struct {
	changes chan string

	mu     sync.Mutex
	open   map[string]home.Paths
	health map[string]node.Health
	fail   map[string]error
	jobs   map[string]*cron.Store
}

var _ node.Profiles = (*memoryProfiles)(nil)

func newMemoryProfiles() *memoryProfiles {
	return &memoryProfiles{changes: make(chan string, 1024), open: map[string]home.Paths{}, health: map[string]node.Health{}, fail: map[string]error{}}
}

// restart forgets what was open, as the end of a process does.
func (p *memoryProfiles) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open, p.jobs = map[string]home.Paths{}, map[string]*cron.Store{}
}

// Open implements node.Profiles.
func (p *memoryProfiles) Open(_ context.Context, paths home.Paths, _ *home.Declaration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fail[paths.Name]; err != nil {
		return err
	}
	if _, ok := p.open[paths.Name]; !ok {
		p.open[paths.Name] = paths
		p.changes <- paths.Name
	}
	return nil
}

// Close implements node.Profiles.
func (p *memoryProfiles) Close(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.open[name]; ok {
		delete(p.open, name)
		p.changes <- name
	}
	return nil
}

// Health implements node.Profiles.
func (p *memoryProfiles) Health(name string) (node.Health, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.open[name]
	return p.health[name], ok
}

// Served implements node.Profiles.
func (p *memoryProfiles) Served() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := []string{}
	for name := range p.open {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Jobs implements node.Profiles with the real job store in the profile's home; nothing ticks it.
func (p *memoryProfiles) Jobs(name string) (node.JobStore, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	paths, ok := p.open[name]
	if !ok {
		return nil, false
	}
	if p.jobs[name] == nil {
		store, err := cron.Open(paths.Home, cron.Options{Owner: cron.Owner{Host: "conformance", PID: os.Getpid()}})
		if err != nil {
			return nil, false
		}
		p.jobs[name] = store
	}
	return p.jobs[name], true
}

// Changes implements node.Profiles.
func (p *memoryProfiles) Changes() <-chan string { return p.changes }

// setHealth makes a profile report h.
func (p *memoryProfiles) setHealth(name string, h node.Health) {
	p.mu.Lock()
	p.health[name] = h
	p.mu.Unlock()
	p.changes <- name
}

// setFail makes Open of a profile fail; nil ends that.
func (p *memoryProfiles) setFail(name string, err error) {
	p.mu.Lock()
	p.fail[name] = err
	p.mu.Unlock()
	p.changes <- name
}
