package cron

import (
	"k8s.io/utils/clock"
)

type ledger struct {
	path  string
	owner Owner
	clock clock.PassiveClock
}

func (l *ledger) close() error { return nil }
