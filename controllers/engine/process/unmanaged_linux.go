package process

import (
	"context"
	"os"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// hostOwner is the gateway of this user's host, started by hand under whatever profile, when it serves profiles of this
// home root. A record counts only when the kernel proves its process; an owner that does not answer is an owner all the
// same. Implements the engine's part of G-250 to G-255: never a second gateway, and never a signal to somebody else's.
func (s *supervisor) hostOwner(ctx context.Context, root string) (host.Identity, bool) {
	dir := s.eng.opts.HostLocks
	if dir == "" {
		return host.Identity{}, false
	}
	r, err := host.NewRendezvous(host.RendezvousConfig{
		Dir: dir, Role: host.RoleGateway, DefaultRoot: root, UID: os.Getuid(), Clock: s.eng.opts.Clock, Log: s.log,
	})
	if err != nil {
		s.log.Error(err, "look for a gateway that was started by hand")
		return host.Identity{}, false
	}
	record, standing, _ := r.Look()
	if record == nil || standing != host.Owner || !host.SameHome(home.ForHome(record.Home).Root, root) {
		return host.Identity{}, false
	}
	owner := host.Identity{PID: record.PID, StartTime: record.StartTime, HermesHome: record.Home}
	answer, err := s.client(record.Home).Identify(ctx)
	if err == nil && answer.PID == record.PID && answer.ServedProfiles == nil && !host.SameHome(record.Home, root) {
		return host.Identity{}, false // serves its own named profile only, whose store has its own lock
	}
	return owner, true
}
