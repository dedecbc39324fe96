package profile

import (
	"time"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/home"
)

// cronSettings reads the settings of the profile's jobs as they are now. A configuration that cannot be read leaves the
// defaults, and its turns fail with the reason.
func (r *Runtime) cronSettings() cron.Settings {
	config, err := r.config.Read()
	if err != nil {
		return cron.DefaultSettings()
	}
	s, err := readCronSettings(config)
	if err != nil {
		r.o.Log.Error(err, "the time zone of jobs is UTC")
	}
	return s
}

// readCronSettings takes the keys cron.* of spec §1.3 out of a configuration. A zone that is not known is an error, and
// leaves UTC.
func readCronSettings(c *home.Config) (cron.Settings, error) {
	s := cron.DefaultSettings()
	s.CatchUpMissed = !c.IsFalse("cron", "catch_up_missed")
	s.RetryUnreachable = !c.IsFalse("cron", "retry_unreachable")
	for _, n := range []struct {
		key  string
		into *int
	}{
		{"max_parallel_jobs", &s.MaxParallelJobs}, {"output_retention", &s.OutputRetention},
		{"completed_retention_days", &s.CompletedRetentionDays}, {"failure_nudge_threshold", &s.FailureNudge},
		{"catch_up_burst", &s.CatchUpBurst},
	} {
		if v, ok := c.Int("cron", n.key); ok {
			*n.into = int(v)
		}
	}
	for _, d := range []struct {
		key  string
		unit time.Duration
		into *time.Duration
	}{
		{"inflight_max_minutes", time.Minute, &s.InflightFloor}, {"failure_repeat_alert_hours", time.Hour, &s.FailureRepeat},
		{"script_timeout_seconds", time.Second, &s.ScriptTimeout}, {"inactivity_timeout_seconds", time.Second, &s.Inactivity},
	} {
		if v, ok := c.Float("cron", d.key); ok {
			*d.into = time.Duration(v * float64(d.unit))
		}
	}
	zone := c.String("timezone")
	if zone == "" {
		return s, nil
	}
	loaded, err := cron.LoadZone(zone)
	if err == nil {
		s.Zone = loaded
	}
	return s, err
}
