package gateway

import "hermes.dev/hermes/runtime/node"

// Jobs implements node.Profiles. A profile that closes has no job store any more.
func (p *profiles) Jobs(name string) (node.JobStore, bool) {
	r, ok := p.lookup(name)
	if !ok {
		return nil, false
	}
	store, err := r.Jobs()
	if err != nil {
		return nil, false
	}
	return store, true
}
