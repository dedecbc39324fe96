package home

import (
	"fmt"

	"github.com/robfig/cron/v3"
)

// backupConfig renders spec.backup. The schedule is read here, too, so that a mistake in it shows in the Profile's
// conditions before any night has passed without a backup.
func (r *renderer) backupConfig(c *typedConfig) error {
	b := r.spec.Backup
	if b == nil {
		return nil
	}
	if _, err := cron.ParseStandard(b.Schedule); err != nil {
		return &ErrConfigInvalid{Key: "spec.backup.schedule", Problem: fmt.Sprintf("%v: use five cron fields such as \"0 3 * * *\", or @daily", err)}
	}
	c.set("spec.backup.schedule", b.Schedule, "backup", "schedule")
	if b.Keep > 0 {
		c.set("spec.backup.keep", int64(b.Keep), "backup", "keep")
	}
	return nil
}
