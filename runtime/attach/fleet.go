package attach

import (
	"context"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Fleet lists every live gateway of a home root: the owner first, then each installed home whose own gateway lives.
// Nothing of another home is changed or removed. Implements the enumeration of G-256 and G-406.
func (p *Prober) Fleet(ctx context.Context, root string, owner *Owner, served ServedSet) []Member {
	var fleet []Member
	if owner != nil {
		fleet = append(fleet, Member{Owner: *owner, Served: served})
	}
	installed, err := home.List(root)
	if err != nil {
		p.Log.Error(err, "list the profiles of the fleet")
	}
	for _, paths := range installed {
		m, ok := p.member(ctx, paths)
		if ok && (owner == nil || m.PID != owner.PID) {
			fleet = append(fleet, m)
		}
	}
	return fleet
}

// member is the gateway that a home's own identity files name, if that process lives.
func (p *Prober) member(ctx context.Context, paths home.Paths) (Member, bool) {
	record, ok := host.ReadPIDFile(paths.Home)
	if !ok || host.ProcessLiveness(record.Process()) == host.Dead {
		return Member{}, false
	}
	o := Owner{PID: record.PID, Home: paths.Home, Profile: paths.Name, StartTime: record.StartTime}
	return Member{Owner: o, Served: p.ask(ctx, o)}, true
}
