package gateway

import (
	"context"

	"hermes.dev/hermes/runtime/cron"
)

// tickJobs ticks the jobs of every profile that this gateway serves until ctx ends. Holding the host lock is what makes
// this process the one to do it; o.MayTick narrows that further, profile by profile.
//
// Implements C-170, C-177 and C-190.
func (g *gateway) tickJobs(ctx context.Context) {
	ticker, err := cron.NewTicker(cron.TickerOptions{
		Clock: g.o.Clock, Log: g.o.Log.WithName("cron"), Profiles: g.profiles.ticked, Every: g.o.TickEvery,
		Gate: func(t cron.Ticked) (bool, error) { return g.mayTick(t.Name), nil },
	})
	if err != nil {
		g.o.Log.Error(err, "no scheduled job runs")
		return
	}
	ticker.Run(ctx)
}

// mayTick reports whether this process may hand out a profile's jobs now.
func (g *gateway) mayTick(profile string) bool {
	return !g.draining.Load() && (g.o.MayTick == nil || g.o.MayTick(profile))
}

// ticked lists the profiles that have jobs.
func (p *profiles) ticked() ([]cron.Ticked, error) {
	var list []cron.Ticked
	for _, r := range p.all() {
		if t, ok := r.Ticked(); ok {
			list = append(list, t)
		}
	}
	return list, nil
}
